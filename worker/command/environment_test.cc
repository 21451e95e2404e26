#include "worker/command/environment.h"

#include <map>

#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tandem::command {
namespace {

using ::testing::Contains;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;
using ::testing::UnorderedElementsAreArray;

// Rank 5 of 6: the third one of the second worker.
v1::Prepare Assignment() {
  v1::Prepare prepare;
  prepare.set_job_id("job-9");
  prepare.set_attempt(3);
  prepare.set_rank(5);
  prepare.set_world_size(6);
  prepare.set_local_rank(2);
  prepare.set_local_world_size(3);
  prepare.set_group_rank(1);
  prepare.set_group_world_size(2);
  for (const char* slot : {"cpu:0", "cpu:1", "cpu:2"}) prepare.add_local_slots(slot);
  prepare.add_device_environment()->set_name("CUDA_VISIBLE_DEVICES");
  v1::JobSpec& spec = *prepare.mutable_spec();
  spec.set_logical_ranks(8);
  spec.set_seed(17);
  spec.set_threads_per_rank(2);
  spec.mutable_restart()->set_max(4);
  spec.mutable_checkpoint()->set_dir("/shared");
  spec.mutable_command()->set_store(v1::RENDEZVOUS_STORE_HOSTED);
  return prepare;
}

std::map<std::string, std::string> Environment(const v1::Prepare& prepare) {
  v1::Start start;
  start.set_master_address("10.0.0.1");
  start.set_master_port(4242);
  std::map<std::string, std::string> variables;
  for (const std::string& variable :
       ProgramEnvironment(prepare, start, {.report_fd = 3, .error_file = "/errors"})) {
    const std::pair<std::string, std::string> parts =
        absl::StrSplit(variable, absl::MaxSplits('=', 1));
    EXPECT_TRUE(variables.insert(parts).second) << variable << " is there twice";
  }
  return variables;
}

// The names are torchrun's: see torch/distributed/elastic/agent/server/local_elastic_agent.py.
TEST(Environment, Rank_HasAllThatTorchrunSetsAndTandemsOwn) {
  const std::map<std::string, std::string> expected = {
      {"RANK", "5"},
      {"LOCAL_RANK", "2"},
      {"WORLD_SIZE", "6"},
      {"LOCAL_WORLD_SIZE", "3"},
      {"GROUP_RANK", "1"},
      {"GROUP_WORLD_SIZE", "2"},
      {"ROLE_RANK", "5"},
      {"ROLE_WORLD_SIZE", "6"},
      {"ROLE_NAME", "default"},
      {"MASTER_ADDR", "10.0.0.1"},
      {"MASTER_PORT", "4242"},
      {"TORCHELASTIC_RUN_ID", "job-9"},
      {"TORCHELASTIC_RESTART_COUNT", "2"},
      {"TORCHELASTIC_MAX_RESTARTS", "4"},
      {"TORCHELASTIC_USE_AGENT_STORE", "True"},
      {"TORCHELASTIC_ERROR_FILE", "/errors"},
      {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "1"},
      {"OMP_NUM_THREADS", "2"},
      {"CUDA_VISIBLE_DEVICES", ""},
      {"TANDEM_JOB_ID", "job-9"},
      {"TANDEM_ATTEMPT", "3"},
      {"TANDEM_RANK", "5"},
      {"TANDEM_LOGICAL_RANKS", "8"},
      {"TANDEM_SEED", "17"},
      {"TANDEM_CHECKPOINT_DIR", "/shared/job-9"},
      {"TANDEM_REPORT_FD", "3"},
      {"PYTHONUNBUFFERED", "1"},
  };
  EXPECT_THAT(Environment(Assignment()), UnorderedElementsAreArray(expected));
}

TEST(Environment, NoHostedStore_RankZeroOfTheProgramHostsIt) {
  v1::Prepare prepare = Assignment();
  prepare.mutable_spec()->mutable_command()->set_store(v1::RENDEZVOUS_STORE_NONE);
  EXPECT_THAT(Environment(prepare), Contains(Pair("TORCHELASTIC_USE_AGENT_STORE", "False")));
}

TEST(Environment, NoCheckpoint_HasNoFolderForThem) {
  v1::Prepare prepare = Assignment();
  prepare.mutable_spec()->clear_checkpoint();
  EXPECT_THAT(Environment(prepare), Not(Contains(Key("TANDEM_CHECKPOINT_DIR"))));
}

TEST(Environment, VariablesOfTheUser_AreThereAndCannotTouchTandems) {
  v1::Prepare prepare = Assignment();
  v1::Command& command = *prepare.mutable_spec()->mutable_command();
  for (const char* variable : {"DATA=/a=b", "PYTHONUNBUFFERED=", "RANK=0"})
    command.add_env(variable);
  const auto environment = Environment(prepare);
  EXPECT_THAT(environment, Contains(Pair("DATA", "/a=b")));
  EXPECT_THAT(environment, Contains(Pair("PYTHONUNBUFFERED", "")));
  EXPECT_THAT(environment, Contains(Pair("RANK", "5")));
}

TEST(Environment, Devices_AreThoseThatItsAgentSaysWhateverTheUserWants) {
  v1::Prepare prepare = Assignment();
  prepare.mutable_device_environment(0)->set_value("GPU-c,GPU-a");
  prepare.mutable_spec()->mutable_command()->add_env("CUDA_VISIBLE_DEVICES=7");
  EXPECT_THAT(Environment(prepare), Contains(Pair("CUDA_VISIBLE_DEVICES", "GPU-c,GPU-a")));
}

}  // namespace
}  // namespace tandem::command
