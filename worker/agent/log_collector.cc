#include "worker/agent/log_collector.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <iostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/proto_time.h"

namespace tandem::agent {
namespace {

constexpr size_t kReadBytes = size_t{64} << 10;
// Of one message, as it is encoded; the line that crosses this is the last.
constexpr size_t kBatchBytes = size_t{64} << 10;
constexpr int kBatchLines = 1024;
// The tag and the length of a line within its message, at most.
constexpr size_t kLineOverhead = 4;
constexpr absl::Duration kBatchDelay = absl::Milliseconds(100);
// The most that a pipe can hold (the default of /proc/sys/fs/pipe-max-size).
constexpr size_t kPipeBytes = size_t{1} << 20;

}  // namespace

LogCollector::LogCollector(EventLoop* loop, const Clock* clock, const LogOptions& options,
                           RankKey key, Pipes pipes, BatchCallback on_batch)
    : loop_(*loop), clock_(*clock), key_(std::move(key)), on_batch_(std::move(on_batch)) {
  out_.kind = v1::LOG_STREAM_STDOUT;
  out_.pipe = std::move(pipes.out);
  err_.kind = v1::LOG_STREAM_STDERR;
  err_.pipe = std::move(pipes.err);
  const std::string base = absl::StrCat(options.directory, "/", key_.job.value(), "/attempt-",
                                        key_.attempt.value(), "/rank-", key_.rank.value());
  Open(&out_, base + ".out", options.cap_bytes_per_file);
  Open(&err_, base + ".err", options.cap_bytes_per_file);
}

void LogCollector::Open(Stream* stream, const std::string& path, uint64_t cap_bytes) {
  fcntl(stream->pipe.get(), F_SETFL, O_NONBLOCK);
  stream->watch =
      loop_.Watch(stream->pipe.get(), EPOLLIN, [this, stream](uint32_t) { ReadSome(stream); });
  auto file = LogFile::Create(path, cap_bytes);
  if (file.ok()) {
    stream->file = *std::move(file);
  } else {
    std::cerr << "tandem-worker: " << file.status().message()
              << "; its lines still go to the coordinator\n";
  }
}

size_t LogCollector::ReadSome(Stream* stream) {
  if (!stream->pipe.valid()) return 0;
  char bytes[kReadBytes];
  const ssize_t n = read(stream->pipe.get(), bytes, sizeof(bytes));
  if (n > 0) {
    Take(stream, stream->splitter.Add({bytes, static_cast<size_t>(n)}));
    return static_cast<size_t>(n);
  }
  if (n == 0 || (errno != EAGAIN && errno != EINTR)) Close(stream);
  return 0;
}

void LogCollector::Note(const std::string& line) {
  WriteFile(&err_, {line});
  AddToBatch(err_.kind, line);
}

void LogCollector::Drain() {
  DrainStream(&out_);
  DrainStream(&err_);
  Flush();
}

void LogCollector::DrainStream(Stream* stream) {
  // Bounded: what the trainer wrote is in the pipe already, and whoever escaped may go on writing.
  size_t total = 0;
  for (size_t n = ReadSome(stream); n > 0 && total < kPipeBytes; n = ReadSome(stream)) total += n;
  if (stream->pipe.valid()) Close(stream);
}

void LogCollector::Close(Stream* stream) {
  stream->watch.Reset();
  stream->pipe.Reset();
  Take(stream, stream->splitter.Finish());
  if (stream->file.has_value()) NoteWritten(stream, stream->file->Finish());
}

void LogCollector::Take(Stream* stream, const std::vector<std::string>& lines) {
  WriteFile(stream, lines);
  for (const std::string& line : lines) {
    AddToBatch(stream->kind, line);
    if (stream->kind == v1::LOG_STREAM_STDERR) last_stderr_lines_.Add(line);
  }
}

void LogCollector::WriteFile(Stream* stream, const std::vector<std::string>& lines) {
  if (!stream->file.has_value()) return;
  NoteWritten(stream, stream->file->Append(lines));
}

void LogCollector::NoteWritten(Stream* stream, const absl::Status& written) {
  if (written.ok()) return;
  std::cerr << "tandem-worker: " << written.message() << "; the rest is left out of this file\n";
  stream->file.reset();
}

void LogCollector::AddToBatch(v1::LogStream kind, const std::string& line) {
  if (batch_.lines().empty()) flush_timer_ = loop_.After(kBatchDelay, [this] { Flush(); });
  v1::LogLine* added = batch_.add_lines();
  added->set_attempt(key_.attempt.value());
  added->set_rank(key_.rank.value());
  added->set_stream(kind);
  *added->mutable_time() = ToProto(clock_.Now().wall);
  added->set_text(line);
  batch_bytes_ += added->ByteSizeLong() + kLineOverhead;
  if (batch_bytes_ >= kBatchBytes || batch_.lines_size() >= kBatchLines) Flush();
}

void LogCollector::Flush() {
  flush_timer_.Reset();
  if (batch_.lines().empty()) return;
  batch_.set_job_id(key_.job.value());
  batch_.set_attempt(key_.attempt.value());
  batch_bytes_ = 0;
  on_batch_(std::exchange(batch_, {}));
}

}  // namespace tandem::agent
