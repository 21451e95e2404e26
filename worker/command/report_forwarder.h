#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "tandem/v1/report.pb.h"
#include "worker/command/report_route.h"
#include "worker/process/frame_channel.h"

namespace tandem::command {

// From a rank to rank 0. Where the connection fails, the losses of this rank are missing from then on, which is
// told on stderr, and nothing else happens: a job does not fail because of its reports.
class ReportForwarder final : public ReportRoute {
 public:
  // Connects to where rank 0 listens, a numeric address, and does not wait for it.
  ReportForwarder(EventLoop* loop, const v1::ReportHello& self, const std::string& address,
                  uint16_t port);

  void Report(const v1::StepReport& report) override;
  void Finish(std::function<void()> done) override;
  void Flush() override;

 private:
  void Send(const v1::ToRankZero& message);
  void OnLost(const absl::Status& reason);
  void SayLost();

  const uint32_t rank_;
  bool has_reported_ = false;
  // Empty: it is not lost, or that has been said.
  std::string why_lost_;
  // Rank 0 answers nothing. Null: there never was a connection.
  std::unique_ptr<FrameChannel<v1::ToRankZero>> channel_;
};

}  // namespace tandem::command
