#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "tandem/v1/job.pb.h"

namespace tandem::client {

// Tells what tandem-command says of a rank's surroundings before the program starts, which
// `tandem describe` shows, from what the program prints.
class LauncherHeader {
 public:
  // The lines of a job, in order.
  bool Has(const v1::LogLine& line);

 private:
  enum class Place { kBefore, kInside, kBehind };
  // By attempt and rank.
  std::map<std::pair<uint32_t, uint32_t>, Place> places_;
};

// How many of the last lines that a rank printed on stderr are its header, or the end of that.
int HeaderLines(const v1::Cause& cause);

}  // namespace tandem::client
