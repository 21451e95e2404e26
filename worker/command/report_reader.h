#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/file_descriptor.h"
#include "tandem/v1/report.pb.h"
#include "worker/process/event_loop.h"
#include "worker/process/line_splitter.h"

namespace tandem::command {

// The other end of a program's TANDEM_REPORT_FD: reads what it reports, and tells it when to stop. A line that
// is no report is described on stderr and skipped. Loop only.
class ReportReader {
 public:
  using ReportCallback = std::function<void(const v1::StepReport&)>;

  //   Any code of errno  the process is out of descriptors.
  static absl::StatusOr<std::unique_ptr<ReportReader>> Create(EventLoop* loop,
                                                              ReportCallback on_report);

  // For the program to inherit.
  int program_end() const { return program_end_.get(); }
  // Once the program has its copy.
  void CloseProgramEnd() { program_end_.Reset(); }

  // Writes {"stop": true}, which may never be read.
  void AskToStop();
  // Reads what the program had written, once it is gone.
  void Drain();

 private:
  ReportReader(EventLoop* loop, FileDescriptor socket, FileDescriptor program_end,
               ReportCallback on_report);

  // Reads once; false at the end, and where there is nothing (more) to read for now.
  bool ReadSome();
  void Take(const std::vector<std::string>& lines);

  const FileDescriptor socket_;
  FileDescriptor program_end_;
  const ReportCallback on_report_;
  LineSplitter splitter_;
  EventLoop::Registration watch_;
};

}  // namespace tandem::command
