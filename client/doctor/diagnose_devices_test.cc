#include "client/doctor/clean_facts.h"
#include "client/doctor/diagnose.h"
#include "gtest/gtest.h"

namespace tandem::client::doctor {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> Complain(const v1::HostFacts& facts) {
  Findings findings("this host");
  DiagnoseDevices(facts, &findings);
  return Complaints(findings.Take());
}

v1::DeviceLibraryFacts& Library(v1::HostFacts& facts) {
  return *facts.mutable_probe()->mutable_libraries(0);
}
v1::DeviceFacts& Device(v1::HostFacts& facts, int index) {
  return *facts.mutable_probe()->mutable_devices(index);
}

void Hold(v1::HostFacts& facts, const std::string& name) {
  v1::DeviceProcess& process = *facts.mutable_device_memory()->add_processes();
  process.set_uuid("GPU-1");
  process.set_pid(4711);
  process.set_name(name);
  process.set_bytes(uint64_t{40} << 30);
  Device(facts, 1).set_free_bytes(uint64_t{100} << 30);
}

TEST(DiagnoseDevicesTest, CleanHosts_HaveNoComplaints) {
  for (const int devices : {1, 2, 8}) EXPECT_THAT(Complain(CleanGpuHost(devices)), IsEmpty());
}

TEST(DiagnoseDevicesTest, TrainerThatCannotBeAsked_IsAProblem) {
  v1::HostFacts facts = CleanHost();
  facts.set_probe_problem("tandem-trainer was ended by signal 11");
  EXPECT_THAT(Complain(facts), OneComplaint("PROBLEM devices: ", "signal 11", "dmesg"));
}

TEST(DiagnoseDevicesTest, NoTrainer_IsAWarning) {
  v1::HostFacts facts = CleanHost();
  facts.set_trainer_missing(true);
  facts.set_probe_problem("there is no tandem-trainer at /x");
  EXPECT_THAT(Complain(facts), OneComplaint("WARNING devices: there is no tandem-trainer at /x"));
}

TEST(DiagnoseDevicesTest, CpuBuild_SaysWhatIsNotChecked) {
  EXPECT_THAT(Complain(CleanHost()),
              OneComplaint("NOT_CHECKED devices: ", "this build is for CPUs"));
}

TEST(DiagnoseDevicesTest, CpuBuildBesideACard_IsAWarning) {
  v1::HostFacts facts = CleanGpuHost();
  facts.mutable_probe()->clear_libraries();
  facts.mutable_probe()->clear_devices();
  EXPECT_THAT(Complain(facts),
              OneComplaint("WARNING devices: ", "NVIDIA at 0000:00:00.0", "preset cuda"));
}

TEST(DiagnoseDevicesTest, NoDriver_IsAProblemOnlyWhereThereIsACard) {
  v1::HostFacts facts = CleanGpuHost(0);
  Library(facts).set_problem("there is no driver");
  EXPECT_THAT(Complain(facts), OneComplaint("NOT_CHECKED cuda: there is no driver"));
  facts.add_accelerators()->set_vendor("NVIDIA");
  EXPECT_THAT(Complain(facts), OneComplaint("PROBLEM cuda: there is no driver", "--gpus all"));
}

TEST(DiagnoseDevicesTest, DriverOlderThanTheBuild_IsAProblem) {
  v1::HostFacts facts = CleanGpuHost();
  Library(facts).set_driver_version("12.4");
  EXPECT_THAT(Complain(facts),
              OneComplaint("PROBLEM cuda: built for 13.0, the driver is for 12.4", "newer driver"));
  Library(facts).set_driver_version("13.2");
  EXPECT_THAT(Complain(facts), IsEmpty());
  Library(facts).set_runtime_version("13.3");
  EXPECT_THAT(Complain(facts), OneComplaint("NOTE cuda: "));
  Library(facts).set_driver_version("");
  EXPECT_THAT(Complain(facts), OneComplaint("NOT_CHECKED cuda: "));
}

TEST(DiagnoseDevicesTest, NoNccl_IsAProblemWithSeveralDevices) {
  v1::HostFacts two = CleanGpuHost(2), one = CleanGpuHost(1);
  for (v1::HostFacts* facts : {&one, &two}) {
    Library(*facts).clear_collectives();
    Library(*facts).set_collectives_problem("libnccl.so.2 is not there");
  }
  EXPECT_THAT(Complain(two),
              OneComplaint("PROBLEM NCCL: libnccl.so.2 is not there", "./dev setup --cuda"));
  EXPECT_THAT(Complain(one), OneComplaint("NOTE NCCL: "));
}

TEST(DiagnoseDevicesTest, OlderNccl_IsAWarning) {
  v1::HostFacts facts = CleanGpuHost();
  Library(facts).set_collectives("NCCL 2.18.3");
  EXPECT_THAT(Complain(facts), OneComplaint("WARNING NCCL: NCCL 2.18.3, older than the 2.28"));
}

TEST(DiagnoseDevicesTest, PairWithoutP2P_IsNamedWithWhatHelpsAndItsPrice) {
  v1::HostFacts facts = CleanGpuHost(3);
  // One direction is enough to break it.
  Device(facts, 0).clear_peers();
  Device(facts, 0).add_peers(1);
  EXPECT_THAT(Complain(facts),
              OneComplaint("WARNING P2P: cuda:0 and cuda:2 do not reach", "NCCL_DEBUG=INFO",
                           "NCCL_P2P_DISABLE=1", "price: several times slower"));
}

TEST(DiagnoseDevicesTest, ManyPairsWithoutP2P_AreOneLine) {
  v1::HostFacts facts = CleanGpuHost(8);
  for (v1::DeviceFacts& device : *facts.mutable_probe()->mutable_devices()) device.clear_peers();
  EXPECT_THAT(Complain(facts),
              OneComplaint("WARNING P2P: cuda:0 and cuda:1, ", "and 24 more pairs"));
}

TEST(DiagnoseDevicesTest, MemoryHeldByAStranger_NamesItsPid) {
  v1::HostFacts facts = CleanGpuHost();
  Hold(facts, "python3");
  EXPECT_THAT(Complain(facts), OneComplaint("WARNING devices: cuda:1", "100 GiB of 140 GiB",
                                            "pid 4711 (python3) holds 40 GiB", "kill 4711"));
  Device(facts, 1).set_free_bytes(1 << 30);
  EXPECT_THAT(Complain(facts), OneComplaint("PROBLEM devices: cuda:1"));
}

TEST(DiagnoseDevicesTest, MemoryHeldByARank_IsANote) {
  v1::HostFacts facts = CleanGpuHost();
  Hold(facts, "/opt/tandem/bin/tandem-trainer");
  EXPECT_THAT(Complain(facts), OneComplaint("NOTE devices: cuda:1", "pid 4711"));
}

TEST(DiagnoseDevicesTest, MemoryHeldByNobodyKnown_SaysWhyItIsNotKnown) {
  v1::HostFacts facts = CleanGpuHost();
  Device(facts, 0).set_free_bytes(0);
  facts.mutable_device_memory()->set_problem("there is no nvidia-smi in PATH");
  EXPECT_THAT(Complain(facts), OneComplaint("WARNING devices: cuda:0", "no nvidia-smi in PATH"));
}

TEST(DiagnoseDevicesTest, TwoModels_AreAWarning) {
  v1::HostFacts facts = CleanGpuHost();
  Device(facts, 1).set_model("NVIDIA A100");
  EXPECT_THAT(Complain(facts),
              OneComplaint("WARNING devices: models differ", "NVIDIA A100, NVIDIA H200"));
}

}  // namespace
}  // namespace tandem::client::doctor
