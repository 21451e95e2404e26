#include "client/doctor/amounts.h"
#include "client/doctor/clean_facts.h"
#include "client/doctor/diagnose.h"
#include "gtest/gtest.h"

namespace tandem::client::doctor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

std::vector<std::string> Spoiled(const std::function<void(v1::HostFacts&)>& spoil,
                                 v1::HostFacts facts = CleanGpuHost()) {
  spoil(facts);
  return Complaints(DiagnoseHost("this host", facts));
}

TEST(DiagnoseHostTest, CleanHost_HasNoComplaints) {
  EXPECT_THAT(Spoiled([](auto&) {}), IsEmpty());
  EXPECT_FALSE(HasProblem(DiagnoseHost("this host", CleanGpuHost())));
}

TEST(DiagnoseHostTest, EveryFinding_HasSubjectAspectAndText) {
  for (const v1::HostFinding& finding : DiagnoseHost("this host", CleanGpuHost())) {
    EXPECT_EQ(finding.subject(), "this host");
    EXPECT_NE(finding.aspect(), "");
    EXPECT_NE(finding.found(), "");
  }
}

// Facts of an agent of another version, or none at all.
TEST(DiagnoseHostTest, EmptyFacts_AreJudgedAsWell) {
  EXPECT_TRUE(HasProblem(DiagnoseHost("worker a", {})));
}

TEST(DiagnoseHostTest, TrainerOfAnotherVersion_IsAProblem) {
  const auto complaints = Spoiled(
      [](v1::HostFacts& facts) { facts.mutable_probe()->set_build("tandem-trainer 9.9.9"); });
  EXPECT_THAT(complaints, OneComplaint("PROBLEM build: ", "9.9.9"));
}

TEST(DiagnoseHostTest, ClockOfThePast_IsAProblem) {
  EXPECT_THAT(Spoiled([](v1::HostFacts& facts) { facts.clear_wall_clock(); }),
              OneComplaint("PROBLEM clock: 1970-01-01", "timedatectl"));
}

TEST(DiagnoseHostTest, SharedMemoryOfAContainer_IsAProblemWithSeveralDevices) {
  const auto shrink = [](v1::HostFacts& facts) {
    facts.mutable_shared_memory()->set_total_bytes(uint64_t{64} << 20);
    facts.mutable_shared_memory()->set_free_bytes(uint64_t{64} << 20);
  };
  EXPECT_THAT(Spoiled(shrink), OneComplaint("PROBLEM /dev/shm: 64 MiB of 64 MiB", "--shm-size"));
  EXPECT_THAT(Spoiled(shrink, CleanGpuHost(1)), OneComplaint("WARNING /dev/shm: 64 MiB of 64 MiB"));
}

TEST(DiagnoseHostTest, FullOrMissingSharedMemory_IsSaid) {
  EXPECT_THAT(
      Spoiled([](v1::HostFacts& facts) { facts.mutable_shared_memory()->set_free_bytes(4096); }),
      OneComplaint("PROBLEM /dev/shm: 4 KiB of 64 GiB", "remove what lies there"));
  EXPECT_THAT(Spoiled([](v1::HostFacts& facts) {
                facts.mutable_shared_memory()->set_problem("/dev/shm: none");
              }),
              OneComplaint("WARNING /dev/shm: /dev/shm: none"));
}

TEST(DiagnoseHostTest, LittleDisk_IsAWarningAndThenAProblem) {
  const auto leave = [](uint64_t bytes) {
    return [bytes](v1::HostFacts& facts) { facts.mutable_temporary()->set_free_bytes(bytes); };
  };
  EXPECT_THAT(Spoiled(leave(uint64_t{500} << 20)),
              OneComplaint("WARNING disk: 500 MiB", "/tmp", "TMPDIR"));
  EXPECT_THAT(Spoiled(leave(1 << 20)), OneComplaint("PROBLEM disk: 1 MiB"));
  EXPECT_THAT(
      Spoiled([](v1::HostFacts& facts) { facts.mutable_temporary()->set_problem("/x: none"); }),
      OneComplaint("PROBLEM disk: /x: none"));
}

TEST(DiagnoseHostTest, FewDescriptors_AreAWarningAndThenAProblem) {
  const auto allow = [](uint64_t files) {
    return [files](v1::HostFacts& facts) { facts.mutable_limits()->set_open_files(files); };
  };
  EXPECT_THAT(Spoiled(allow(1024)), IsEmpty());
  EXPECT_THAT(Spoiled(allow(512)), OneComplaint("WARNING files: 512", "ulimit -n"));
  EXPECT_THAT(Spoiled(allow(64)), OneComplaint("PROBLEM files: 64", "LimitNOFILE"));
}

TEST(DiagnoseHostTest, LittleLockedMemory_IsAProblemWithInfiniBandOnly) {
  const auto lock = [](bool has_rdma) {
    return [has_rdma](v1::HostFacts& facts) {
      facts.mutable_limits()->set_locked_bytes(8 << 20);
      facts.mutable_limits()->set_has_rdma(has_rdma);
    };
  };
  EXPECT_THAT(Spoiled(lock(false)), IsEmpty());
  EXPECT_THAT(Spoiled(lock(true)), OneComplaint("PROBLEM locked: 8 MiB", "ulimit -l unlimited"));
}

TEST(DiagnoseHostTest, TightCgroup_IsAWarning) {
  EXPECT_THAT(
      Spoiled([](v1::HostFacts& facts) { facts.mutable_limits()->set_memory_bytes(512 << 20); }),
      OneComplaint("WARNING memory: this cgroup may use 512 MiB", "signal 9"));
  EXPECT_THAT(Spoiled([](v1::HostFacts& facts) {
                facts.mutable_limits()->set_memory_bytes(uint64_t{8} << 30);
              }),
              IsEmpty());
}

TEST(DiagnoseHostTest, StaleTrainers_AreNamedByPid) {
  const auto complaints = Spoiled([](v1::HostFacts& facts) {
    for (const int64_t pid : {4711, 4712}) {
      facts.add_stale()->set_pid(pid);
      facts.mutable_stale()->rbegin()->set_name("tandem-trainer");
    }
  });
  EXPECT_THAT(complaints, OneComplaint("PROBLEM processes: ", "tandem-trainer (pid 4711)",
                                       "kill -9 4711 4712"));
}

TEST(DiagnoseHostTest, BrokenLoopback_IsAProblem) {
  EXPECT_THAT(Spoiled([](v1::HostFacts& facts) {
                facts.mutable_network()->set_loopback_problem("cannot connect");
              }),
              OneComplaint("PROBLEM loopback: cannot connect", "ip link set lo up"));
}

TEST(DiagnoseHostTest, UnknownName_IsAWarningAndLoopbackAlone_ANote) {
  EXPECT_THAT(Spoiled([](v1::HostFacts& facts) {
                facts.mutable_network()->set_name_problem("gpu-3: unknown");
              }),
              OneComplaint("WARNING name: ", "gpu-3: unknown", "/etc/hosts"));
  EXPECT_THAT(
      Spoiled([](v1::HostFacts& facts) { facts.mutable_network()->set_addresses(0, "127.0.1.1"); }),
      OneComplaint("NOTE name: ", "127.0.1.1", "NCCL_SOCKET_IFNAME"));
}

TEST(DiagnoseHostTest, AddressOfAnotherHost_IsAProblem) {
  EXPECT_THAT(Spoiled([](v1::HostFacts& facts) {
                facts.mutable_network()->set_advertise_problem("cannot bind 10.0.0.9");
              }),
              OneComplaint("PROBLEM address: cannot bind 10.0.0.9", "--advertise-address"));
}

TEST(AmountsTest, Bytes_HaveTheUnitThatFits) {
  EXPECT_EQ(BytesText(0), "0 bytes");
  EXPECT_EQ(BytesText(64 << 20), "64 MiB");
  EXPECT_EQ(BytesText(uint64_t{3} << 29), "1.5 GiB");
}

TEST(AmountsTest, Versions_AreFoundInText) {
  EXPECT_EQ(VersionIn("NCCL 2.28.9"), (MajorMinor{2, 28}));
  EXPECT_EQ(VersionIn("13.0"), (MajorMinor{13, 0}));
  EXPECT_EQ(VersionIn("unknown"), std::nullopt);
  EXPECT_EQ(VersionIn("13"), std::nullopt);
}

}  // namespace
}  // namespace tandem::client::doctor
