#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/file_descriptor.h"
#include "worker/process/event_loop.h"
#include "worker/process/line_splitter.h"

namespace tandem::command {

// Passes on what a program writes to one of its streams, byte for byte, and shows each line of it. A slow reader
// slows down the program, as it would without this. Loop only.
class StreamTap {
 public:
  using LineCallback = std::function<void(const std::string&)>;

  // `to` is inherited, and stays open.
  //   Any code of errno  the process is out of descriptors.
  static absl::StatusOr<std::unique_ptr<StreamTap>> Create(EventLoop* loop, int to,
                                                           LineCallback on_line);

  // For the program to write to.
  int program_end() const { return program_end_.get(); }
  // Once the program has its copy.
  void CloseProgramEnd() { program_end_.Reset(); }

  // Passes on what is still in the pipe, once no process is left that writes. Blocks while nobody reads.
  void Drain();

 private:
  StreamTap(EventLoop* loop, int to, FileDescriptor from, FileDescriptor program_end,
            LineCallback on_line);

  void WatchSource();
  // Reads once; false at the end, and where there is nothing (more) to read for now.
  bool ReadSome();
  // At most as much as can be written without blocking.
  void WriteSome();
  bool CanWrite(int timeout_ms) const;
  void Show(const std::vector<std::string>& lines);

  EventLoop& loop_;
  const int to_;
  const FileDescriptor from_;
  FileDescriptor program_end_;
  const LineCallback on_line_;
  LineSplitter splitter_;
  std::string unwritten_;
  size_t written_ = 0;  // of those bytes
  EventLoop::Registration source_watch_, target_watch_;
};

}  // namespace tandem::command
