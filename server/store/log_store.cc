#include "server/store/log_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/base/internal/endian.h"
#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"

namespace tandem::store {
namespace {

constexpr size_t kHeaderBytes = sizeof(uint32_t);
// Longer than any line that a worker can send; a larger length means that the file is damaged.
constexpr uint32_t kMaxLineBytes = uint32_t{64} << 20;

void AppendFrame(const v1::LogLine& line, std::string* out) {
  char header[kHeaderBytes];
  absl::little_endian::Store32(header, static_cast<uint32_t>(line.ByteSizeLong()));
  out->append(header, kHeaderBytes);
  line.AppendToString(out);
}

// Length of the frame that starts here, header included; 0 where less than a header stands.
size_t FrameBytes(absl::string_view bytes) {
  if (bytes.size() < kHeaderBytes) return 0;
  return kHeaderBytes + absl::little_endian::Load32(bytes.data());
}

// A line is never empty (it has a time), so a hole of zeros is damage too.
bool IsDamaged(size_t frame_bytes) {
  return frame_bytes == kHeaderBytes || frame_bytes > kHeaderBytes + kMaxLineBytes;
}

// Length of the whole, undamaged frames at the front.
size_t WholeFrames(absl::string_view bytes) {
  size_t end = 0;
  for (;;) {
    const size_t next = FrameBytes(bytes.substr(end));
    if (next == 0 || IsDamaged(next) || next > bytes.size() - end) return end;
    end += next;
  }
}

absl::StatusOr<std::string> ReadAt(int fd, uint64_t offset, size_t size) {
  std::string bytes(size, '\0');
  size_t got = 0;
  while (got < size) {
    const ssize_t n = pread(fd, bytes.data() + got, size - got, static_cast<off_t>(offset + got));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return absl::InternalError(absl::ErrnoToStatus(errno, "read").message());
    if (n == 0) break;
    got += static_cast<size_t>(n);
  }
  bytes.resize(got);
  return bytes;
}

// Some whole frames from `offset` on; empty at the end of the file, and before a torn last frame.
absl::StatusOr<std::string> ReadFrames(int fd, uint64_t offset) {
  absl::StatusOr<std::string> bytes = ReadAt(fd, offset, LogStore::kPageBytes);
  if (!bytes.ok()) return bytes;
  const size_t first = FrameBytes(*bytes);
  if (first != 0 && IsDamaged(first)) return absl::DataLossError("not a log line");
  if (first > LogStore::kPageBytes) {
    bytes = ReadAt(fd, offset, first);
    if (!bytes.ok()) return bytes;
  }
  bytes->resize(WholeFrames(*bytes));
  return bytes;
}

// Cuts off what a crash left half written, or damaged, and returns the size of the rest.
absl::StatusOr<uint64_t> Repair(int fd) {
  uint64_t end = 0;
  for (;;) {
    absl::StatusOr<std::string> frames = ReadFrames(fd, end);
    if (absl::IsInternal(frames.status())) return frames.status();
    if (!frames.ok() || frames->empty()) break;
    end += frames->size();
  }
  if (ftruncate(fd, static_cast<off_t>(end)) != 0) return absl::ErrnoToStatus(errno, "truncate");
  return end;
}

absl::Status WriteAt(int fd, uint64_t offset, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return absl::ErrnoToStatus(errno, "write");
    bytes.remove_prefix(static_cast<size_t>(n));
    offset += static_cast<uint64_t>(n);
  }
  return absl::OkStatus();
}

v1::LogLine LimitNotice(const v1::LogLine& last, uint64_t max_bytes) {
  v1::LogLine notice = last;
  notice.set_stream(v1::LOG_STREAM_STDERR);
  notice.set_text(
      absl::StrFormat("tandem: the log of this job has reached its limit of %d MiB; of later lines "
                      "the end is kept, until the job ends",
                      max_bytes >> 20));
  return notice;
}

// Before the line that follows the gap.
v1::LogLine GapNotice(uint64_t lines, const v1::LogLine& next) {
  v1::LogLine notice = next;
  notice.set_stream(v1::LOG_STREAM_STDERR);
  notice.set_text(absl::StrCat("tandem: ", lines, " lines are left out here"));
  return notice;
}

absl::Status ParseFrames(absl::string_view frames, LogPage* page) {
  while (!frames.empty()) {
    const size_t size = FrameBytes(frames);
    const absl::string_view body = frames.substr(kHeaderBytes, size - kHeaderBytes);
    v1::LogLine& line = page->lines.emplace_back();
    if (!line.ParseFromArray(body.data(), static_cast<int>(body.size()))) {
      return absl::DataLossError("not a log line");
    }
    frames.remove_prefix(size);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<LogStore>> LogStore::Open(const std::string& directory,
                                                         uint64_t max_bytes) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) {
    return absl::InternalError(
        absl::StrCat("cannot make the log directory ", directory, ": ", error.message()));
  }
  return absl::WrapUnique(new LogStore(directory, max_bytes));
}

LogStore::LogStore(std::string directory, uint64_t max_bytes)
    : directory_(std::move(directory)), max_bytes_(max_bytes) {}

LogStore::~LogStore() {
  for (auto& [job, writer] : writers_) WriteEnd(writer);
}

std::string LogStore::PathOf(const JobId& job) const {
  return absl::StrCat(directory_, "/", job.value(), ".log");
}

absl::StatusOr<LogStore::Writer*> LogStore::WriterOf(const JobId& job) {
  if (auto found = writers_.find(job); found != writers_.end()) return &found->second;
  FileDescriptor file(open(PathOf(job).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file.valid()) return absl::ErrnoToStatus(errno, PathOf(job));
  absl::StatusOr<uint64_t> size = Repair(file.get());
  if (!size.ok()) return size.status();
  return &writers_.emplace(job, Writer{std::move(file), *size}).first->second;
}

uint64_t LogStore::Append(const JobId& job,
                          const google::protobuf::RepeatedPtrField<v1::LogLine>& lines) {
  absl::MutexLock lock(&mutex_);
  const auto count = static_cast<uint64_t>(lines.size());
  absl::StatusOr<Writer*> writer = WriterOf(job);
  if (!writer.ok()) return count;
  std::string frames;
  uint64_t dropped = 0;
  for (const v1::LogLine& line : lines) {
    // A file is full exactly when it has the notice, also after a restart: the line that fills it
    // and the notice are written together.
    if ((*writer)->size + frames.size() >= max_bytes_) {
      dropped += (*writer)->tail.Add(line, kHeaderBytes + line.ByteSizeLong());
      continue;
    }
    AppendFrame(line, &frames);
    if ((*writer)->size + frames.size() >= max_bytes_) {
      AppendFrame(LimitNotice(line, max_bytes_), &frames);
    }
  }
  if (!Write(**writer, frames).ok()) {
    writers_.erase(
        job);  // The next append opens the file again and cuts off what stands half written.
    return count;
  }
  return dropped;
}

absl::Status LogStore::Write(Writer& writer, absl::string_view frames) {
  absl::Status written = WriteAt(writer.file.get(), writer.size, frames);
  if (written.ok()) writer.size += frames.size();
  return written;
}

void LogStore::WriteEnd(Writer& writer) const {
  // A rank that cannot be stopped may print for ever: after the end of its job there are many ends.
  const bool had_its_end = writer.size + writer.tail.bytes() > max_bytes_ + 2 * kTailBytes;
  if (writer.tail.empty() || had_its_end) return;
  const auto end = writer.tail.Take();
  std::string frames;
  if (end.given_up > 0 && !end.lines.empty()) {
    AppendFrame(GapNotice(end.given_up, end.lines.front()), &frames);
  }
  for (const v1::LogLine& line : end.lines) AppendFrame(line, &frames);
  // What cannot be written is dropped, as in Append.
  Write(writer, frames).IgnoreError();
}

void LogStore::Close(const JobId& job) {
  absl::MutexLock lock(&mutex_);
  const auto found = writers_.find(job);
  if (found == writers_.end()) return;
  WriteEnd(found->second);
  writers_.erase(found);
}

void LogStore::Forget(const JobId& job) {
  Close(job);
  unlink(PathOf(job).c_str());
}

absl::StatusOr<LogPage> LogStore::Read(const JobId& job, uint64_t offset) const {
  LogPage page;
  page.next_offset = offset;
  const FileDescriptor file(open(PathOf(job).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid() && errno == ENOENT) return page;
  if (!file.valid()) {
    return absl::InternalError(absl::ErrnoToStatus(errno, PathOf(job)).message());
  }
  absl::StatusOr<std::string> frames = ReadFrames(file.get(), offset);
  absl::Status status = frames.ok() ? ParseFrames(*frames, &page) : frames.status();
  if (!status.ok()) {
    return absl::Status(status.code(),
                        absl::StrCat(PathOf(job), " at byte ", offset, ": ", status.message()));
  }
  page.next_offset += frames->size();
  return page;
}

}  // namespace tandem::store
