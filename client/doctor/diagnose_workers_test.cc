#include "client/doctor/clean_facts.h"
#include "client/doctor/diagnose.h"
#include "gtest/gtest.h"

namespace tandem::client::doctor {
namespace {

using ::testing::IsEmpty;

void AddWorker(v1::ListHostsResponse* response, const std::string& name, const std::string& host) {
  v1::WorkerHost& worker = *response->add_hosts();
  worker.set_worker(name);
  *worker.mutable_facts() = CleanGpuHost();
  worker.mutable_facts()->set_host(host);
  worker.mutable_facts()->add_slots("cuda:0");
  worker.mutable_facts()->add_slots("cuda:1");
  for (v1::DeviceFacts& device : *worker.mutable_facts()->mutable_probe()->mutable_devices()) {
    device.set_uuid(absl::StrCat(host, "-", device.uuid()));
  }
  *worker.mutable_heard_at() = ToProto(SomeTime() + absl::Milliseconds(2));
}

v1::ListHostsResponse TwoWorkers() {
  v1::ListHostsResponse response;
  response.set_version(kVersion);
  AddWorker(&response, "a", "gpu-1");
  AddWorker(&response, "b", "gpu-2");
  return response;
}

std::vector<std::string> Spoiled(const std::function<void(v1::ListHostsResponse&)>& spoil) {
  v1::ListHostsResponse response = TwoWorkers();
  spoil(response);
  return Complaints(DiagnoseWorkers(response));
}

v1::HostFacts& FactsOfB(v1::ListHostsResponse& response) {
  return *response.mutable_hosts(1)->mutable_facts();
}

TEST(DiagnoseWorkersTest, CleanWorkers_HaveNoComplaints) {
  EXPECT_THAT(Spoiled([](auto&) {}), IsEmpty());
}

TEST(DiagnoseWorkersTest, NoWorker_IsAProblem) {
  EXPECT_THAT(Spoiled([](auto& response) { response.clear_hosts(); }),
              OneComplaint("PROBLEM workers: none", "tandem-worker"));
}

TEST(DiagnoseWorkersTest, WorkerThatHasSaidNothing_IsNotChecked) {
  EXPECT_THAT(Spoiled([](auto& response) { response.mutable_hosts(1)->clear_facts(); }),
              OneComplaint("NOT_CHECKED facts: ", "ask again"));
}

TEST(DiagnoseWorkersTest, ProblemOfAWorker_IsThere) {
  EXPECT_THAT(
      Spoiled([](auto& response) { FactsOfB(response).mutable_limits()->set_open_files(1); }),
      OneComplaint("PROBLEM files: "));
}

TEST(DiagnoseWorkersTest, AnotherVersion_IsAProblemThatNamesWho) {
  const auto complaints = Spoiled([](auto& response) {
    FactsOfB(response).set_version("0.0.9");
    FactsOfB(response).mutable_probe()->set_build("tandem-trainer 0.0.9 (LibTorch 2.11.0)");
  });
  EXPECT_THAT(complaints,
              OneComplaint("PROBLEM build: versions differ: 0.0.9 (b)", "the coordinator"));
}

TEST(DiagnoseWorkersTest, AnotherBuildOfTheTrainer_IsAProblem) {
  EXPECT_THAT(Spoiled([](auto& response) {
                FactsOfB(response).mutable_probe()->set_build(
                    absl::StrCat("tandem-trainer ", kVersion, " (LibTorch 2.10)"));
              }),
              OneComplaint("PROBLEM build: trainers differ", "LibTorch 2.10) (b)"));
}

TEST(DiagnoseWorkersTest, ClocksApart_AreAWarningAndThenAProblem) {
  const auto move = [](absl::Duration by) {
    return [by](v1::ListHostsResponse& response) {
      *FactsOfB(response).mutable_wall_clock() = ToProto(SomeTime() + by);
    };
  };
  EXPECT_THAT(Spoiled(move(absl::Milliseconds(900))), IsEmpty());
  EXPECT_THAT(Spoiled(move(absl::Seconds(12))),
              OneComplaint("WARNING clock: the clock of b is 11.998s ahead of"));
  EXPECT_THAT(Spoiled(move(absl::Seconds(-12))),
              OneComplaint("WARNING clock: the clock of b is 12.002s behind"));
  EXPECT_THAT(Spoiled(move(absl::Hours(-1))),
              OneComplaint("PROBLEM clock: ", "certificates", "timedatectl"));
}

TEST(DiagnoseWorkersTest, OtherDevices_AreAWarningOnlyWhereTheyAreOffered) {
  const auto change = [](v1::ListHostsResponse& response) {
    for (v1::DeviceFacts& device : *FactsOfB(response).mutable_probe()->mutable_devices())
      device.set_model("NVIDIA A100");
  };
  EXPECT_THAT(Spoiled(change),
              OneComplaint("WARNING models: ", "NVIDIA A100 (b); NVIDIA H200 (a)"));
  EXPECT_THAT(Spoiled([&](auto& response) {
                change(response);
                FactsOfB(response).clear_slots();
              }),
              IsEmpty());
}

TEST(DiagnoseWorkersTest, OtherProcessors_AreAWarningForCpuSlotsOnly) {
  EXPECT_THAT(Spoiled([](auto& response) { FactsOfB(response).set_cpu_model("Another"); }),
              IsEmpty());
  const auto complaints = Spoiled([](auto& response) {
    for (v1::WorkerHost& host : *response.mutable_hosts()) host.mutable_facts()->add_slots("cpu:0");
    FactsOfB(response).set_cpu_model("Another");
  });
  EXPECT_THAT(complaints,
              OneComplaint("WARNING models: processors", "A processor (a); Another (b)"));
}

TEST(DiagnoseWorkersTest, OtherNccl_IsAProblemAndAnotherDriver_ANote) {
  EXPECT_THAT(
      Spoiled([](auto& response) {
        FactsOfB(response).mutable_probe()->mutable_libraries(0)->set_collectives("NCCL 2.29.1");
      }),
      OneComplaint("PROBLEM NCCL: versions differ", "NCCL 2.29.1 (b)"));
  EXPECT_THAT(
      Spoiled([](auto& response) {
        FactsOfB(response).mutable_probe()->mutable_libraries(0)->set_driver_version("13.1");
      }),
      OneComplaint("NOTE driver: versions differ"));
}

TEST(DiagnoseWorkersTest, OneDeviceOfferedTwice_IsAProblem) {
  const auto complaints = Spoiled([](v1::ListHostsResponse& response) {
    FactsOfB(response) = response.hosts(0).facts();
    FactsOfB(response).clear_slots();
    // Where other devices are hidden from it, the same one has another number.
    FactsOfB(response).add_slots("cuda:0");
    FactsOfB(response).mutable_probe()->mutable_devices(0)->set_uuid("gpu-1-GPU-1");
  });
  EXPECT_THAT(complaints,
              ::testing::Contains(::testing::StartsWith(
                  "PROBLEM slots: gpu-1-GPU-1 is offered by a (cuda:1) and b (cuda:0)")));
}

TEST(DiagnoseWorkersTest, TwoWorkersOnOneHost_AreANote) {
  EXPECT_THAT(Spoiled([](auto& response) { FactsOfB(response).set_host("gpu-1"); }),
              OneComplaint("NOTE hosts: a and b share the host gpu-1"));
}

TEST(DiagnoseWorkersTest, LoopbackAddressBetweenHosts_IsAProblem) {
  const auto lose = [](v1::ListHostsResponse& response) {
    FactsOfB(response).mutable_network()->set_advertise_address("127.0.0.1");
  };
  EXPECT_THAT(Spoiled(lose),
              OneComplaint("PROBLEM address: b says that it is reached at 127.0.0.1"));
  EXPECT_THAT(Spoiled([&](auto& response) {
                lose(response);
                FactsOfB(response).set_host("gpu-1");
              }),
              OneComplaint("NOTE hosts: "));
}

}  // namespace
}  // namespace tandem::client::doctor
