#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/file_descriptor.h"
#include "tandem/v1/worker.pb.h"
#include "worker/agent/last_lines.h"
#include "worker/agent/log_file.h"
#include "worker/agent/rank_key.h"
#include "worker/process/event_loop.h"
#include "worker/process/line_splitter.h"

namespace tandem::agent {

struct LogOptions {
  // Files are DIRECTORY/JOB/attempt-N/rank-R.out and .err.
  std::string directory;
  uint64_t cap_bytes_per_file = uint64_t{64} << 20;
};

// Reads what one trainer prints, as fast as it prints, and cuts it into lines: into files, into
// batches for the coordinator, and the last lines of stderr for its obituary. Loop only.
class LogCollector {
 public:
  using BatchCallback = std::function<void(v1::RankLog)>;

  struct Pipes {
    // The reading ends; made non-blocking.
    FileDescriptor out, err;
  };

  LogCollector(EventLoop* loop, const Clock* clock, const LogOptions& options, RankKey key,
               Pipes pipes, BatchCallback on_batch);

  // A line of the agent's own, among those of stderr; it is none of the trainer's last words.
  void Note(const std::string& line);

  // Collects what is still in the pipes, and hands over the last batch. For when the trainer and
  // its process group are gone; does not wait for a process that escaped with a copy of a pipe.
  void Drain();

  const std::deque<std::string>& last_stderr_lines() const { return last_stderr_lines_.lines(); }

 private:
  struct Stream {
    v1::LogStream kind;
    FileDescriptor pipe;
    std::optional<LogFile> file;
    LineSplitter splitter;
    EventLoop::Registration watch;
  };

  void Open(Stream* stream, const std::string& path, uint64_t cap_bytes);
  // Returns how many bytes there were; at the end of the stream, closes it.
  size_t ReadSome(Stream* stream);
  void DrainStream(Stream* stream);
  void Close(Stream* stream);
  void Take(Stream* stream, const std::vector<std::string>& lines);
  void WriteFile(Stream* stream, const std::vector<std::string>& lines);
  static void NoteWritten(Stream* stream, const absl::Status& written);
  void AddToBatch(v1::LogStream kind, const std::string& line);
  void Flush();

  EventLoop& loop_;
  const Clock& clock_;
  const RankKey key_;
  const BatchCallback on_batch_;
  Stream out_, err_;
  LastLines last_stderr_lines_;
  v1::RankLog batch_;
  size_t batch_bytes_ = 0;
  EventLoop::Registration flush_timer_;
};

}  // namespace tandem::agent
