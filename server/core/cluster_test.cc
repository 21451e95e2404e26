#include "server/core/cluster.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/core/small_cluster.h"

namespace tandem::core {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const WorkerName kName("a");
const Moment kNow{absl::FromUnixSeconds(1), absl::Seconds(100)};

v1::Register TwoSlots() { return SmallCluster::Registration("a", 2); }

void AddRunning(v1::Register& registration, const std::string& slot) {
  v1::RunningRank& running = *registration.add_running();
  running.set_job_id("old");
  running.set_attempt(1);
  running.set_slot(slot);
}

TEST(CheckRegistration, Complete_IsOk) { EXPECT_TRUE(CheckRegistration(TwoSlots()).ok()); }

TEST(CheckRegistration, OtherProtocol_IsFailedPrecondition) {
  v1::Register registration = TwoSlots();
  registration.set_protocol_version(kProtocolVersion + 1);
  EXPECT_EQ(CheckRegistration(registration).code(), absl::StatusCode::kFailedPrecondition);
}

TEST(CheckRegistration, SomethingMissing_IsInvalidArgument) {
  using Spoil = void (*)(v1::Register&);
  const Spoil spoils[] = {[](v1::Register& r) { r.clear_name(); },
                          [](v1::Register& r) { r.clear_incarnation(); },
                          [](v1::Register& r) { r.clear_advertise_address(); },
                          [](v1::Register& r) { r.clear_slots(); },
                          [](v1::Register& r) { r.add_slots(""); },
                          [](v1::Register& r) { r.add_slots("cpu:0"); },
                          [](v1::Register& r) { AddRunning(r, "cpu:9"); },
                          [](v1::Register& r) {
                            AddRunning(r, "cpu:0");
                            AddRunning(r, "cpu:0");
                          }};
  for (const Spoil spoil : spoils) {
    v1::Register registration = TwoSlots();
    spoil(registration);
    EXPECT_EQ(CheckRegistration(registration).code(), absl::StatusCode::kInvalidArgument)
        << registration.ShortDebugString();
  }
}

TEST(Cluster, Connect_WithRunningRank_ItsSlotIsBusyUntilFreedByThatRank) {
  Cluster cluster;
  v1::Register registration = TwoSlots();
  AddRunning(registration, "cpu:1");
  cluster.Connect(registration, ConnectionId(1), kNow);
  EXPECT_THAT(cluster.Slots().at(0).free, ElementsAre("cpu:0"));
  EXPECT_FALSE(cluster.Free(kName, {JobId("old"), AttemptNumber(2), Rank(0)}));
  EXPECT_TRUE(cluster.Free(kName, {JobId("old"), AttemptNumber(1), Rank(0)}));
  EXPECT_FALSE(cluster.Free(kName, {JobId("old"), AttemptNumber(1), Rank(0)}));
  EXPECT_THAT(cluster.Slots().at(0).free, ElementsAre("cpu:0", "cpu:1"));
}

TEST(Cluster, SilentSince_HeardOverItsOwnConnectionOnly_Renews) {
  Cluster cluster;
  cluster.Connect(TwoSlots(), ConnectionId(1), kNow);
  const Moment later{kNow.wall, kNow.steady + absl::Seconds(5)};
  EXPECT_FALSE(cluster.Hear(kName, ConnectionId(2), later));
  EXPECT_THAT(cluster.SilentSince(kNow.steady), ElementsAre(kName));
  EXPECT_TRUE(cluster.Hear(kName, ConnectionId(1), later));
  EXPECT_THAT(cluster.SilentSince(kNow.steady), IsEmpty());
}

TEST(Cluster, Take_OnlyTheNextNumberIsNew) {
  Cluster cluster;
  v1::Register registration = TwoSlots();
  registration.set_next_sequence(8);
  cluster.Connect(registration, ConnectionId(1), kNow);
  EXPECT_EQ(cluster.Take(kName, 8), Cluster::Order::kNext);
  EXPECT_EQ(cluster.Take(kName, 8), Cluster::Order::kRepeated);
  EXPECT_EQ(cluster.Take(kName, 10), Cluster::Order::kGap);
  // What the same agent says again over a new connection has been heard.
  cluster.Connect(registration, ConnectionId(2), kNow);
  EXPECT_EQ(cluster.Take(kName, 8), Cluster::Order::kRepeated);
  EXPECT_EQ(cluster.Take(kName, 9), Cluster::Order::kNext);
}

TEST(Cluster, Slots_OfDrainedOrDisconnectedWorkers_AreNotOffered) {
  Cluster cluster;
  cluster.Connect(TwoSlots(), ConnectionId(1), kNow);
  ASSERT_THAT(cluster.Slots(), SizeIs(1));
  cluster.SetDraining(kName, true);
  EXPECT_THAT(cluster.Slots(), IsEmpty());
  EXPECT_TRUE(cluster.ViewOf(kName).draining());
  cluster.SetDraining(kName, false);
  cluster.Disconnect(kName);
  EXPECT_THAT(cluster.Slots(), IsEmpty());
  EXPECT_EQ(cluster.ViewOf(kName).state(), v1::WORKER_STATE_DISCONNECTED);
}

TEST(Cluster, Remove_BusyWorker_SaysWhoRanThere) {
  Cluster cluster;
  cluster.Connect(TwoSlots(), ConnectionId(1), kNow);
  const RankId rank{JobId("j"), AttemptNumber(1), Rank(4)};
  cluster.Occupy({kName, "cpu:1"}, rank);
  EXPECT_THAT(cluster.Remove(kName), ElementsAre(rank));
  EXPECT_EQ(cluster.Find(kName), nullptr);
}

}  // namespace
}  // namespace tandem::core
