#include "worker/agent/host_watch.h"

#include <functional>

#include "common/temporary_folder.h"
#include "gtest/gtest.h"

namespace tandem::agent {
namespace {

class HostWatchTest : public ::testing::Test {
 protected:
  HostWatch::Options Script(const std::string& script) {
    HostWatch::Options options;
    options.look = {.path = "/bin/sh", .arguments = {"-c", script, "sh"}};
    options.first_after = absl::ZeroDuration();
    return options;
  }
  // Runs the loop, once, until there are news; nothing if there are none for long.
  std::optional<v1::HostFacts> Await(HostWatch* watch) {
    std::optional<v1::HostFacts> news;
    const auto give_up = loop_->After(absl::Seconds(30), [&] { loop_->Stop(); });
    EventLoop::Registration next;
    std::function<void()> look = [&] {
      news = watch->TakeNews();
      if (news) return loop_->Stop();
      next = loop_->After(absl::Milliseconds(1), look);
    };
    look();
    loop_->Run();
    return news;
  }

  std::unique_ptr<EventLoop> loop_ = *EventLoop::Create();
};

TEST_F(HostWatchTest, WhatTheProgramPrints_IsNewsOnce) {
  HostWatch watch(
      loop_.get(),
      Script(R"(echo "{\"host\": \"gpu-3\", \"network\": {\"advertiseAddress\": \"$2\"}}")"));
  EXPECT_FALSE(watch.TakeNews().has_value());
  watch.Renew();
  watch.Start("10.0.0.3");
  const auto facts = Await(&watch);
  ASSERT_TRUE(facts.has_value());
  EXPECT_EQ(facts->host(), "gpu-3");
  EXPECT_EQ(facts->network().advertise_address(), "10.0.0.3");
  EXPECT_FALSE(watch.TakeNews().has_value());
  watch.Renew();
  EXPECT_TRUE(watch.TakeNews().has_value());
}

TEST_F(HostWatchTest, ProgramThatCrashesOrPrintsNonsense_IsLookedAtAgain) {
  // The second look finds the file that the first one left.
  const TemporaryFolder place = *TemporaryFolder::Create("tandem-test");
  const std::string mark = place.File("looked");
  HostWatch::Options options =
      Script("[ -e " + mark + " ] && echo '{\"host\": \"a\"}' && exit; touch " + mark +
             "; echo oops; kill $$");
  options.interval = absl::Milliseconds(500);
  HostWatch watch(loop_.get(), options);
  watch.Start("10.0.0.3");
  EXPECT_TRUE(Await(&watch).has_value());
}

TEST_F(HostWatchTest, NoProgram_NobodyLooks) {
  HostWatch watch(loop_.get(), {});
  watch.Start("10.0.0.3");
  EXPECT_FALSE(watch.TakeNews().has_value());
}

TEST_F(HostWatchTest, BusyHost_IsNotLookedAtUntilItIsFree) {
  bool is_free = false;
  HostWatch::Options options = Script("echo '{}'");
  options.while_busy = absl::Milliseconds(300);
  options.is_busy = [&] { return !is_free; };
  HostWatch watch(loop_.get(), options);
  watch.Start("10.0.0.3");
  const auto free = loop_->After(absl::Milliseconds(700), [&] { is_free = true; });
  EXPECT_TRUE(Await(&watch).has_value());
  EXPECT_TRUE(is_free);
}

}  // namespace
}  // namespace tandem::agent
