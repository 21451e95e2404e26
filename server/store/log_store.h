#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "common/file_descriptor.h"
#include "common/ids.h"
#include "common/tail.h"
#include "google/protobuf/repeated_ptr_field.h"
#include "tandem/v1/job.pb.h"

namespace tandem::store {

struct LogPage {
  std::vector<v1::LogLine> lines;
  // Where the next page starts. Equal to the offset asked for: nothing new yet.
  uint64_t next_offset = 0;
};

// What the ranks of each job printed, one file a job: 4 bytes of length, little-endian, then a
// LogLine, and so on. In a file that has reached the limit one line says so; of what comes after, the end is
// kept in memory and written when the job ends or this is destroyed, and the rest is counted and dropped.
// Log lines are not synced: a power failure may take the last of them, never older ones.
//
// Thread-safe.
class LogStore {
 public:
  static constexpr uint64_t kDefaultMaxBytes = uint64_t{64} << 20;
  static constexpr size_t kPageBytes = size_t{256} << 10;
  // Of the end beyond the limit, at most.
  static constexpr size_t kTailBytes = size_t{1} << 20;

  // Makes the directory where it does not exist.
  //   Internal  it cannot be made.
  static absl::StatusOr<std::unique_ptr<LogStore>> Open(const std::string& directory,
                                                        uint64_t max_bytes = kDefaultMaxBytes);

  ~LogStore();

  // Appends the lines in one write, and returns how many of them were dropped because the file is
  // full or the disk is: a job never fails for its logs.
  uint64_t Append(const JobId& job, const google::protobuf::RepeatedPtrField<v1::LogLine>& lines);

  // Nothing more will be appended soon: writes the end of what came beyond the limit, and closes the file.
  void Close(const JobId& job);

  // They are not wanted any more: removes the file.
  void Forget(const JobId& job);

  // The lines from `offset` on, about kPageBytes of them. No file is an empty page.
  //   DataLoss  what stands at the offset is not a line.
  //   Internal  the file cannot be read.
  absl::StatusOr<LogPage> Read(const JobId& job, uint64_t offset) const;

 private:
  struct Writer {
    FileDescriptor file;
    uint64_t size = 0;
    // What came after the file was full.
    Tail<v1::LogLine> tail{kTailBytes};
  };

  LogStore(std::string directory, uint64_t max_bytes);

  std::string PathOf(const JobId& job) const;
  static absl::Status Write(Writer& writer, absl::string_view frames);
  // Of lines beyond the limit.
  void WriteEnd(Writer& writer) const;
  absl::StatusOr<Writer*> WriterOf(const JobId& job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string directory_;
  const uint64_t max_bytes_;
  absl::Mutex mutex_;
  absl::flat_hash_map<JobId, Writer> writers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tandem::store
