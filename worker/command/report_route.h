#pragma once

#include <functional>

#include "tandem/v1/report.pb.h"

namespace tandem::command {

// Where the reports of a rank go. Loop only.
class ReportRoute {
 public:
  virtual ~ReportRoute() = default;

  virtual void Report(const v1::StepReport& report) = 0;
  // The program has ended well. Calls `done`, once, when everything that it and those who depend on it had to
  // say is passed on; perhaps before it returns.
  virtual void Finish(std::function<void()> done) = 0;
  // The rank ends now: passes on what can be.
  virtual void Flush() = 0;
};

}  // namespace tandem::command
