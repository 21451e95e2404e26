#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"

namespace tandem::data {

struct PrefetchOptions {
  uint32_t threads = 1;   // at most; 0, or none can be started: everything happens within Next
  uint32_t prefetch = 1;  // products made but not yet taken, at most; at least 1
  uint64_t count = 0;     // how many products there are
};

// Makes products number 0, 1, 2 ... ahead of time, on threads of its own, and hands them out in that
// order. First `plan` says what is to be made; then `make` makes it. How many threads there are and
// how far they are ahead changes nothing but the time it takes.
//
// Next is for one thread.
template <typename Work, typename Product>
class Prefetcher {
 public:
  // Called once for each number, rising, never by two threads at once: it may keep state.
  using Plan = std::function<Work(uint64_t number)>;
  // Called by several threads at once.
  using Make = std::function<absl::StatusOr<Product>(Work)>;

  Prefetcher(PrefetchOptions options, Plan plan, Make make)
      : options_(options),
        plan_(std::move(plan)),
        make_(std::move(make)),
        slots_(options.prefetch) {
    StartThreads();
  }

  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  // Waits for no more than the calls of `plan` and `make` that have begun.
  ~Prefetcher() {
    {
      absl::MutexLock lock(&mutex_);
      stopping_ = true;
    }
    for (std::thread& thread : threads_) thread.join();
  }

  // The next product; waits for it.
  //   Internal    `plan` or `make` threw; says what.
  //   OutOfRange  there are no more.
  //   others      of `make`.
  // The product of an error is gone; the next call gives the one after it.
  absl::StatusOr<Product> Next() {
    if (threads_.empty()) return MakeHere();
    absl::MutexLock lock(&mutex_);
    if (taken_ == options_.count) return NoMore();
    std::optional<absl::StatusOr<Product>>& slot = SlotOf(taken_);
    mutex_.Await(absl::Condition(
        +[](std::optional<absl::StatusOr<Product>>* s) { return s->has_value(); }, &slot));
    ++taken_;
    return *std::exchange(slot, std::nullopt);
  }

 private:
  // Those that there are room for: with fewer, or none, the same is made, later.
  void StartThreads() {
    threads_.reserve(options_.threads);
    try {
      for (uint32_t i = 0; i < options_.threads; ++i) threads_.emplace_back([this] { Run(); });
    } catch (const std::exception&) {
      // Those that run are joined like any others.
    }
  }

  static absl::Status NoMore() { return absl::OutOfRangeError("there is nothing more to load"); }

  // The result of `call`, or what it threw.
  template <typename Call>
  static auto Catch(Call call) -> absl::StatusOr<typename decltype(call())::value_type> {
    try {
      return call();
    } catch (const std::exception& error) {
      // The first line; LibTorch adds a stack.
      const std::string what = error.what();
      return absl::InternalError(absl::StrCat("loading failed: ", what.substr(0, what.find('\n'))));
    }
  }

  absl::StatusOr<Work> PlanOf(uint64_t number) {
    return Catch([&]() -> absl::StatusOr<Work> { return plan_(number); });
  }

  absl::StatusOr<Product> MakeOf(absl::StatusOr<Work> work) {
    if (!work.ok()) return work.status();
    return Catch([&] { return make_(*std::move(work)); });
  }

  absl::StatusOr<Product> MakeHere() {
    if (here_ == options_.count) return NoMore();
    return MakeOf(PlanOf(here_++));
  }

  std::optional<absl::StatusOr<Product>>& SlotOf(uint64_t number)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return slots_[number % slots_.size()];
  }

  bool MayPlanOrStop() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return Finished() || (!planning_ && planned_ < taken_ + options_.prefetch);
  }
  bool Finished() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || planned_ == options_.count;
  }

  // What a thread does: its turn to plan, then making it beside the others.
  void Run() {
    while (const std::optional<uint64_t> number = AwaitTurn()) {
      absl::StatusOr<Work> work = PlanOf(*number);
      EndTurn();
      absl::StatusOr<Product> product = MakeOf(std::move(work));
      absl::MutexLock lock(&mutex_);
      SlotOf(*number).emplace(std::move(product));
    }
  }

  std::optional<uint64_t> AwaitTurn() {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(this, &Prefetcher::MayPlanOrStop));
    if (Finished()) return std::nullopt;
    planning_ = true;
    return planned_;
  }

  void EndTurn() {
    absl::MutexLock lock(&mutex_);
    planning_ = false;
    ++planned_;
  }

  // Constant after construction.
  const PrefetchOptions options_;
  const Plan plan_;
  const Make make_;
  std::vector<std::thread> threads_;

  // The caller of Next alone.
  uint64_t here_ = 0;  // without threads: the number of the next product

  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool planning_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t planned_ ABSL_GUARDED_BY(mutex_) = 0;  // numbers below it have been planned
  uint64_t taken_ ABSL_GUARDED_BY(mutex_) = 0;    // and below this, handed out
  // Product n waits in slot n modulo their number, which is free: n < taken_ + prefetch.
  std::vector<std::optional<absl::StatusOr<Product>>> slots_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tandem::data
