#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "tandem/v1/report.pb.h"
#include "worker/command/report_route.h"
#include "worker/process/frame_channel.h"

namespace tandem::command {

// From a rank to rank 0. Where the connection fails, the losses of this rank are missing from then on, which is
// told on stderr, and nothing else happens: a job does not fail because of its reports.
class ReportForwarder final : public ReportRoute {
 public:
  // Does not wait for the connection.
  //   InvalidArgument    `address` is not a numeric address.
  //   Any code of errno  no socket can be had, or there is no route.
  static absl::StatusOr<std::unique_ptr<ReportForwarder>> Connect(EventLoop* loop,
                                                                  const v1::ReportHello& self,
                                                                  const std::string& address,
                                                                  uint16_t port);

  void Report(const v1::StepReport& report) override;
  void Finish(std::function<void()> done) override;
  void Flush() override { channel_.Flush(); }

 private:
  ReportForwarder(EventLoop* loop, const v1::ReportHello& self, FileDescriptor socket);

  const uint32_t rank_;
  // Rank 0 answers nothing.
  FrameChannel<v1::ToRankZero> channel_;
};

}  // namespace tandem::command
