#include "worker/data/prefetcher.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>

#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tandem::data {
namespace {

using Numbers = Prefetcher<uint64_t, uint64_t>;

uint64_t Same(uint64_t number) { return number; }
absl::StatusOr<uint64_t> Tenfold(uint64_t work) { return 10 * work; }

class PrefetcherTest : public ::testing::TestWithParam<PrefetchOptions> {};

TEST_P(PrefetcherTest, Next_GivesEachProductOnceInOrder) {
  Numbers prefetcher(GetParam(), Same, Tenfold);
  for (uint64_t n = 0; n < GetParam().count; ++n) EXPECT_EQ(*prefetcher.Next(), 10 * n);
  EXPECT_TRUE(absl::IsOutOfRange(prefetcher.Next().status()));
}

TEST_P(PrefetcherTest, Plan_IsCalledInOrderAndNeverTwiceAtOnce) {
  // Not atomic: ThreadSanitizer would see two calls at once.
  uint64_t expected = 0;
  {
    Numbers prefetcher(
        GetParam(),
        [&](uint64_t n) {
          EXPECT_EQ(n, expected++);
          return n;
        },
        Tenfold);
    for (uint64_t n = 0; n < GetParam().count; ++n) EXPECT_TRUE(prefetcher.Next().ok());
  }
  EXPECT_EQ(expected, GetParam().count);
}

TEST_P(PrefetcherTest, Make_IsNeverFurtherAheadThanAsked) {
  std::atomic<uint64_t> taken = 0;
  Numbers prefetcher(
      GetParam(),
      [&](uint64_t n) {
        // One more may be on its way out of Next.
        EXPECT_LE(n, taken + GetParam().prefetch);
        return n;
      },
      Tenfold);
  for (uint64_t n = 0; n < GetParam().count; ++n, ++taken) EXPECT_TRUE(prefetcher.Next().ok());
}

TEST_P(PrefetcherTest, Error_ComesOutInItsPlaceAndTheNextProductAfterIt) {
  Numbers prefetcher(GetParam(), Same, [](uint64_t n) -> absl::StatusOr<uint64_t> {
    if (n == 1) return absl::DataLossError("torn");
    if (n == 2) throw std::runtime_error("thrown");
    return n;
  });
  EXPECT_EQ(*prefetcher.Next(), 0u);
  EXPECT_EQ(prefetcher.Next().status(), absl::DataLossError("torn"));
  const absl::Status thrown = prefetcher.Next().status();
  EXPECT_TRUE(absl::IsInternal(thrown));
  EXPECT_THAT(std::string(thrown.message()), ::testing::HasSubstr("thrown"));
  EXPECT_EQ(*prefetcher.Next(), 3u);
}

TEST_P(PrefetcherTest, PlanThatThrows_IsAnErrorOfItsProduct) {
  Numbers prefetcher(
      GetParam(),
      [](uint64_t n) {
        if (n == 0) throw std::runtime_error("no plan");
        return n;
      },
      Tenfold);
  EXPECT_TRUE(absl::IsInternal(prefetcher.Next().status()));
  EXPECT_EQ(*prefetcher.Next(), 10u);
}

TEST_P(PrefetcherTest, Destruction_AtAnyTime_Ends) {
  for (uint64_t taken = 0; taken <= GetParam().count; ++taken) {
    Numbers prefetcher(GetParam(), Same, Tenfold);
    for (uint64_t n = 0; n < taken; ++n) EXPECT_TRUE(prefetcher.Next().ok());
  }
}

INSTANTIATE_TEST_SUITE_P(ThreadsAndPrefetch, PrefetcherTest,
                         ::testing::Values(PrefetchOptions{0, 1, 50}, PrefetchOptions{0, 8, 50},
                                           PrefetchOptions{1, 1, 50}, PrefetchOptions{1, 8, 50},
                                           PrefetchOptions{4, 1, 50}, PrefetchOptions{4, 8, 50},
                                           PrefetchOptions{4, 100, 50}),
                         [](const auto& info) {
                           return absl::StrCat("Threads", info.param.threads, "Prefetch",
                                               info.param.prefetch);
                         });

TEST(Prefetcher, Threads_MakeAheadOfNext) {
  absl::Notification second_is_made;
  Numbers prefetcher({1, 2, 10}, Same, [&](uint64_t n) -> absl::StatusOr<uint64_t> {
    if (n == 1) second_is_made.Notify();
    return n;
  });
  // Without Next being called at all.
  second_is_made.WaitForNotification();
}

TEST(Prefetcher, Threads_MakeBesideEachOther) {
  // Each of the two products waits for the other to have begun.
  absl::Notification begun[2];
  Numbers prefetcher({2, 2, 2}, Same, [&](uint64_t n) -> absl::StatusOr<uint64_t> {
    begun[n].Notify();
    begun[1 - n].WaitForNotification();
    return n;
  });
  EXPECT_EQ(*prefetcher.Next(), 0u);
  EXPECT_EQ(*prefetcher.Next(), 1u);
}

TEST(Prefetcher, DestructionWhileMaking_WaitsForThatAloneAndEnds) {
  absl::Notification begun, may_end;
  std::atomic<int> made = 0;
  auto prefetcher = std::make_unique<Numbers>(PrefetchOptions{1, 8, 1000}, Same,
                                              [&](uint64_t n) -> absl::StatusOr<uint64_t> {
                                                if (made++ == 0) begun.Notify();
                                                may_end.WaitForNotification();
                                                return n;
                                              });
  begun.WaitForNotification();
  std::thread destroyer([&] { prefetcher.reset(); });
  may_end.Notify();
  destroyer.join();
  EXPECT_LE(made, 8);
}

// The sanitizers take more addresses than such a limit.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
constexpr uint64_t kStackBytes = 16 << 20;

uint64_t AddressBytes() {
  uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

// Ends the process, with 0 where it made the right products with addresses for no more stacks than
// `stacks`.
[[noreturn]] void MakeWithRoomFor(double stacks) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_setattr_default_np(&attributes);
  const rlim_t bytes = AddressBytes() + static_cast<uint64_t>(stacks * kStackBytes);
  const rlimit limit{bytes, bytes};
  setrlimit(RLIMIT_AS, &limit);
  bool right = true;
  {
    Numbers prefetcher({64, 8, 50}, Same, Tenfold);
    for (uint64_t n = 0; n < 50; ++n) right = right && *prefetcher.Next() == 10 * n;
  }
  _exit(right ? 0 : 1);
}

TEST(PrefetcherDeathTest, ThreadsThatCannotBeStarted_AreDoneWithout) {
  for (const double stacks : {0.5, 1.5, 4.5}) {
    EXPECT_EXIT(MakeWithRoomFor(stacks), testing::ExitedWithCode(0), "") << stacks;
  }
}
#endif

}  // namespace
}  // namespace tandem::data
