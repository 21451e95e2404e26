#pragma once

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace tandem {

// One instant on two clocks. People read `wall`; durations and deadlines are computed from `steady`,
// which never jumps (it has no meaning across processes).
struct Moment {
  absl::Time wall = absl::UnixEpoch();
  absl::Duration steady = absl::ZeroDuration();
};

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Moment Now() const = 0;
};

class SystemClock : public Clock {
 public:
  Moment Now() const override;
};

// Moves only when told.
class FakeClock : public Clock {
 public:
  Moment Now() const override {
    absl::MutexLock lock(&mutex_);
    return now_;
  }
  void Advance(absl::Duration by) {
    absl::MutexLock lock(&mutex_);
    now_.wall += by;
    now_.steady += by;
  }

 private:
  mutable absl::Mutex mutex_;
  Moment now_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tandem
