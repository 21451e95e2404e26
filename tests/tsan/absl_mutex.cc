// Linked into every program of a ThreadSanitizer build, and into no other.
//
// Debian's Abseil is not instrumented, so ThreadSanitizer does not see its locks: every correct
// program would look full of races. The functions below stand before Abseil's own of the same name,
// for our code and for gRPC's, call them, and tell ThreadSanitizer what has happened.

#include <dlfcn.h>
#include <sanitizer/tsan_interface.h>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"

namespace {

using absl::Condition;
using absl::CondVar;
using absl::Duration;
using absl::Mutex;
using absl::Notification;
using absl::Time;

// Until the end of each scope, ThreadSanitizer looks away from what the lock does inside of it,
// such as to evaluate another thread's condition.
class Locking {
 public:
  explicit Locking(Mutex* mutex, unsigned flags = 0) : mutex_(mutex), flags_(flags) {
    __tsan_mutex_pre_lock(mutex_, flags_);
  }
  ~Locking() { __tsan_mutex_post_lock(mutex_, flags_, 0); }
  void Failed() { flags_ |= __tsan_mutex_try_lock_failed; }

 private:
  Mutex* const mutex_;
  unsigned flags_;
};

class Unlocking {
 public:
  explicit Unlocking(Mutex* mutex, unsigned flags = 0) : mutex_(mutex), flags_(flags) {
    __tsan_mutex_pre_unlock(mutex_, flags_);
  }
  ~Unlocking() { __tsan_mutex_post_unlock(mutex_, flags_); }

 private:
  Mutex* const mutex_;
  const unsigned flags_;
};

// A wait gives the lock back and takes it again.
template <typename Wait>
auto WhileUnlocked(Mutex* mutex, Wait wait) {
  const auto result = [&] {
    const Unlocking unlocking(mutex);
    return wait();
  }();
  const Locking locking(mutex);
  return result;
}

template <typename Function>
Function* Next(const char* symbol) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, symbol));
}

}  // namespace

// What libraries that are not instrumented do among themselves is none of our business.
extern "C" const char* __tsan_default_options() { return "ignore_noninstrumented_modules=1"; }

// Defines `name` under Abseil's symbol; in it, `next` is Abseil's own.
#define INTERPOSE(result, name, symbol, parameters)            \
  extern "C" result name parameters __asm__(symbol);           \
  static auto* Next##name() {                                  \
    static auto* const next = Next<result parameters>(symbol); \
    return next;                                               \
  }                                                            \
  extern "C" result name parameters

// Abseil's ...WithTimeout call its ...WithDeadline.
#define ABSL_SYMBOL(rest) "_ZN4absl7debian3" rest

INTERPOSE(void, MutexLock, ABSL_SYMBOL("5Mutex4LockEv"), (Mutex * mutex)) {
  const Locking locking(mutex);
  NextMutexLock()(mutex);
}

INTERPOSE(void, MutexUnlock, ABSL_SYMBOL("5Mutex6UnlockEv"), (Mutex * mutex)) {
  const Unlocking unlocking(mutex);
  NextMutexUnlock()(mutex);
}

INTERPOSE(bool, MutexTryLock, ABSL_SYMBOL("5Mutex7TryLockEv"), (Mutex * mutex)) {
  Locking locking(mutex, __tsan_mutex_try_lock);
  const bool locked = NextMutexTryLock()(mutex);
  if (!locked) locking.Failed();
  return locked;
}

INTERPOSE(void, MutexReaderLock, ABSL_SYMBOL("5Mutex10ReaderLockEv"), (Mutex * mutex)) {
  const Locking locking(mutex, __tsan_mutex_read_lock);
  NextMutexReaderLock()(mutex);
}

INTERPOSE(void, MutexReaderUnlock, ABSL_SYMBOL("5Mutex12ReaderUnlockEv"), (Mutex * mutex)) {
  const Unlocking unlocking(mutex, __tsan_mutex_read_lock);
  NextMutexReaderUnlock()(mutex);
}

INTERPOSE(void, MutexLockWhen, ABSL_SYMBOL("5Mutex8LockWhenERKNS0_9ConditionE"),
          (Mutex * mutex, const Condition& condition)) {
  const Locking locking(mutex);
  NextMutexLockWhen()(mutex, condition);
}

INTERPOSE(bool, MutexLockWhenWithDeadline,
          ABSL_SYMBOL("5Mutex20LockWhenWithDeadlineERKNS0_9ConditionENS0_4TimeE"),
          (Mutex * mutex, const Condition& condition, Time deadline)) {
  const Locking locking(mutex);
  return NextMutexLockWhenWithDeadline()(mutex, condition, deadline);
}

INTERPOSE(void, MutexAwait, ABSL_SYMBOL("5Mutex5AwaitERKNS0_9ConditionE"),
          (Mutex * mutex, const Condition& condition)) {
  WhileUnlocked(mutex, [&] {
    NextMutexAwait()(mutex, condition);
    return true;
  });
}

INTERPOSE(bool, MutexAwaitWithDeadline,
          ABSL_SYMBOL("5Mutex17AwaitWithDeadlineERKNS0_9ConditionENS0_4TimeE"),
          (Mutex * mutex, const Condition& condition, Time deadline)) {
  return WhileUnlocked(mutex,
                       [&] { return NextMutexAwaitWithDeadline()(mutex, condition, deadline); });
}

INTERPOSE(void, CondVarWait, ABSL_SYMBOL("7CondVar4WaitEPNS0_5MutexE"),
          (CondVar * variable, Mutex* mutex)) {
  WhileUnlocked(mutex, [&] {
    NextCondVarWait()(variable, mutex);
    return true;
  });
}

INTERPOSE(bool, CondVarWaitWithDeadline,
          ABSL_SYMBOL("7CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE"),
          (CondVar * variable, Mutex* mutex, Time deadline)) {
  return WhileUnlocked(mutex,
                       [&] { return NextCondVarWaitWithDeadline()(variable, mutex, deadline); });
}

INTERPOSE(void, NotificationNotify, ABSL_SYMBOL("12Notification6NotifyEv"),
          (Notification * notification)) {
  __tsan_release(notification);
  NextNotificationNotify()(notification);
}

INTERPOSE(void, NotificationWait, "_ZNK4absl7debian312Notification19WaitForNotificationEv",
          (const Notification* notification)) {
  NextNotificationWait()(notification);
  __tsan_acquire(const_cast<Notification*>(notification));
}

INTERPOSE(bool, NotificationWaitWithTimeout,
          "_ZNK4absl7debian312Notification30WaitForNotificationWithTimeoutENS0_8DurationE",
          (const Notification* notification, Duration timeout)) {
  const bool notified = NextNotificationWaitWithTimeout()(notification, timeout);
  if (notified) __tsan_acquire(const_cast<Notification*>(notification));
  return notified;
}
