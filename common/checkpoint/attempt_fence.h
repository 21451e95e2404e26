#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "common/atomic_file.h"

namespace tandem::checkpoint {

// Keeps ranks of older attempts out of the folder of a job: one that was given up, but still runs behind
// a broken network, must neither add a checkpoint nor remove one.
//
// The folder holds the file `.attempt`, whose length in bytes is the number of the newest attempt that
// has begun: a length is changed at once or not at all, wherever a writer is killed. Whoever raises
// it or changes a name in the folder holds its lock (flock, which NFS passes on to its server), so once
// Raise has returned nothing of an older attempt comes any more.
class AttemptFence {
 public:
  // Nothing is done before the first call. `calls` outlives it.
  AttemptFence(const std::string& folder, uint32_t attempt, FileCalls& calls = FileCalls::System());

  // This attempt has begun. Makes the folder where it is missing. On return the number is on the disk.
  //   AlreadyExists  a newer one has begun as well.
  //   others         by errno; the message names the path.
  absl::Status Raise() const;

  // Whether this attempt may write still. Errors as Raise.
  absl::Status Check() const;

 private:
  friend class FencedFileCalls;

  const std::string folder_;
  const std::string path_;
  const uint32_t attempt_;
  FileCalls& calls_;
};

// File calls that change a name only while no newer attempt has begun; they fail with EPERM otherwise, and
// AttemptFence::Check says why.
class FencedFileCalls : public FileCalls {
 public:
  // Both outlive it.
  FencedFileCalls(const AttemptFence& fence, FileCalls& calls) : fence_(fence), calls_(calls) {}

  int Sync(int fd) override { return calls_.Sync(fd); }
  int Rename(const std::string& from, const std::string& to) override;
  int Link(const std::string& from, const std::string& to) override;
  int Remove(const std::string& path) override;

 private:
  const AttemptFence& fence_;
  FileCalls& calls_;
};

}  // namespace tandem::checkpoint
