#include "client/program/program_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/program/split_line.h"

namespace tandem::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

Surroundings ThisMachine() {
  Surroundings here;
  here.folder = "/home/ada";
  here.cores = 6;
  here.one_node = true;
  return here;
}

Surroundings ACluster() {
  Surroundings here;
  here.folder = "/home/ada";
  return here;
}

// The request that the client makes of a command line of torchrun.
ProgramRequest Torchrun(const std::string& line) {
  ProgramRequest request;
  request.as_torchrun = true;
  CLI::App app("", "tandem");
  CLI::App* command = app.add_subcommand("torchrun", "");
  request.torchrun.AddTo(command);
  const std::vector<std::string> words = absl::StrSplit("torchrun " + line, ' ');
  const SplitLine split = SplitAtProgram(app, words);
  app.parse(std::vector<std::string>(split.ours.rbegin(), split.ours.rend()));
  request.words = split.program.value_or(std::vector<std::string>());
  return request;
}

ProgramRequest Typed(const std::string& words) {
  ProgramRequest request;
  request.words = absl::StrSplit(words, ' ');
  return request;
}

std::string Argv(const ProgramJob& job) { return absl::StrJoin(job.spec.command().argv(), " "); }

struct TorchrunLine {
  std::string line;
  std::string argv;
  uint32_t workers;
  uint32_t max_restarts;
};

TEST(JobOf, CommandLinesOfTorchrun_AreTheJobsThatTorchrunWouldRun) {
  const TorchrunLine lines[] = {
      {"train.py", "python3 -u train.py", 1, 0},
      {"--nproc_per_node=2 train.py --config x", "python3 -u train.py --config x", 2, 0},
      {"--nproc-per-node 4 train.py", "python3 -u train.py", 4, 0},
      {"--standalone --nproc_per_node=gpu2 train.py", "", 0, 0},
      {"--standalone --nproc_per_node=auto train.py", "python3 -u train.py", 6, 0},
      {"--nproc_per_node cpu main.py --epochs 50 --batch_size 32",
       "python3 -u main.py --epochs 50 --batch_size 32", 6, 0},
      {"--nnodes=1 --nproc_per_node=8 --rdzv_id=100 --rdzv_backend=c10d "
       "--rdzv_endpoint=localhost:29400 elastic_ddp.py",
       "python3 -u elastic_ddp.py", 8, 0},
      {"--nnodes=1:4 --nproc-per-node=2 --max-restarts=3 --rdzv-id=job --rdzv-backend=c10d "
       "--rdzv-endpoint=host0:29400 train.py --arg1",
       "python3 -u train.py --arg1", 2, 3},
      {"--nnodes 1 --node_rank 0 --master_addr 127.0.0.1 --master_port 29501 --nproc_per_node 2 "
       "run_glue.py --model_name_or_path bert --do_train",
       "python3 -u run_glue.py --model_name_or_path bert --do_train", 2, 0},
      {"-m --nproc_per_node=2 package.train --lr 0.1", "python3 -u -m package.train --lr 0.1", 2,
       0},
      {"--nproc_per_node=2 -m package.train", "python3 -u -m package.train", 2, 0},
      {"--module --nproc_per_node 2 torch.utils.collect_env",
       "python3 -u -m torch.utils.collect_env", 2, 0},
      {"--no_python --nproc_per_node 2 ./train.sh --fast", "./train.sh --fast", 2, 0},
      {"--no-python --nproc-per-node 2 echo -m --standalone", "echo -m --standalone", 2, 0},
      {"--nproc_per_node 2 train --x", "python3 -u train --x", 2, 0},
      {"--nproc_per_node=2 --max_restarts=1 -t 3 --log_dir /tmp/logs train.py",
       "python3 -u train.py", 2, 1},
      {"--nproc_per_node=2 -- train.py -- --x", "python3 -u train.py -- --x", 2, 0},
      {"--nproc_per_node=1 --start_method spawn --role trainer --monitor_interval 5 train.py",
       "python3 -u train.py", 1, 0},
      {"--nproc_per_node=2 train.py --nproc_per_node=7 --max_restarts=9",
       "python3 -u train.py --nproc_per_node=7 --max_restarts=9", 2, 0},
  };
  for (const TorchrunLine& expected : lines) {
    const auto job = JobOf(Torchrun(expected.line), ThisMachine());
    if (expected.argv.empty()) {
      EXPECT_TRUE(absl::IsInvalidArgument(job.status())) << expected.line;
      continue;
    }
    ASSERT_TRUE(job.ok()) << expected.line << ": " << job.status();
    EXPECT_EQ(Argv(*job), expected.argv);
    EXPECT_EQ(job->spec.workers(), expected.workers) << expected.line;
    EXPECT_EQ(job->spec.restart().max(), expected.max_restarts) << expected.line;
    EXPECT_TRUE(job->spec.restart().has_max()) << expected.line;
    EXPECT_FALSE(job->spec.has_min_workers()) << expected.line;
  }
}

TEST(JobOf, NodesOfACluster_AreWorkersTimesRanks) {
  const auto fixed = JobOf(Torchrun("--nnodes 2 --nproc-per-node 4 train.py"), ACluster());
  ASSERT_TRUE(fixed.ok()) << fixed.status();
  EXPECT_EQ(fixed->spec.workers(), 8u);
  const auto elastic = JobOf(Torchrun("--nnodes 1:4 --nproc-per-node 2 train.py"), ACluster());
  ASSERT_TRUE(elastic.ok()) << elastic.status();
  EXPECT_EQ(elastic->spec.min_workers(), 2u);
  EXPECT_EQ(elastic->spec.workers(), 8u);
}

TEST(JobOf, OptionsThatSayNothingHere_AreRemarkedUpon) {
  const auto job =
      JobOf(Torchrun("--rdzv-backend c10d --rdzv_endpoint=a:1 --node-rank 0 --role x train.py"),
            ThisMachine());
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_THAT(job->remarks,
              ElementsAre(HasSubstr("--rdzv-backend, --rdzv-endpoint, --node-rank, --role")));
  EXPECT_THAT(JobOf(Torchrun("train.py"), ThisMachine())->remarks, IsEmpty());
}

TEST(JobOf, TorchrunsOtherOptions_ReachTheJob) {
  const auto job = JobOf(
      Torchrun("--rdzv_id nightly/7 --master_port 29501 --log-dir logs -r 3 --tee 0:1 train.py"),
      ThisMachine());
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->spec.name(), "nightly-7");
  EXPECT_EQ(job->spec.command().master_port(), 29501u);
  EXPECT_EQ(job->log_dir, "logs");
  EXPECT_TRUE(job->shown.Shows(0, v1::LOG_STREAM_STDOUT));
  EXPECT_FALSE(job->shown.Shows(0, v1::LOG_STREAM_STDERR));
  EXPECT_FALSE(job->shown.Shows(1, v1::LOG_STREAM_STDOUT));
}

TEST(JobOf, ThreadsOfTheCaller_AreThoseOfTorchrunsRanks) {
  Surroundings here = ThisMachine();
  here.threads = 3;
  EXPECT_EQ(JobOf(Torchrun("train.py"), here)->spec.threads_per_rank(), 3u);
  EXPECT_FALSE(JobOf(Torchrun("train.py"), ThisMachine())->spec.has_threads_per_rank());
  ProgramRequest as_typed;
  as_typed.words = {"./train"};
  EXPECT_FALSE(JobOf(as_typed, here)->spec.has_threads_per_rank());
}

TEST(JobOf, WhatCannotBeMeant_IsRefusedByTheNameOfTheOption) {
  const std::pair<std::string, std::string> lines[] = {
      {"--nproc-per-node 0 train.py", "--nproc-per-node: "},
      {"--nproc-per-node many train.py", "--nproc-per-node: "},
      {"--nproc-per-node gpu train.py", "--nproc-per-node gpu: "},
      {"--nnodes 0 train.py", "--nnodes: "},
      {"--nnodes 4:2 train.py", "--nnodes: "},
      {"--nnodes 1: train.py", "--nnodes: "},
      {"--nnodes 2 train.py", "--nnodes 2: this machine is one node"},
      {"--nnodes 2:4 train.py", "--nnodes 2:4: this machine is one node"},
      {"-m --no-python train", "--module: "},
      {"--tee 4 train.py", "--tee: "},
      {"--redirects 0:9 train.py", "--redirects: "},
  };
  for (const auto& [line, message] : lines) {
    const auto job = JobOf(Torchrun(line), ThisMachine());
    EXPECT_TRUE(absl::IsInvalidArgument(job.status())) << line;
    EXPECT_THAT(std::string(job.status().message()), StartsWith(message));
  }
  EXPECT_THAT(
      std::string(JobOf(Torchrun("--nproc-per-node auto a.py"), ACluster()).status().message()),
      StartsWith("--nproc-per-node auto: "));
}

TEST(JobOf, AProgramAsTyped_IsStartedAsItStands) {
  const auto job = JobOf(Typed("python train.py --config a.yaml"), ThisMachine());
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(Argv(*job), "python train.py --config a.yaml");
  EXPECT_EQ(job->spec.name(), "train");
  EXPECT_EQ(job->spec.command().working_dir(), "/home/ada");
  EXPECT_FALSE(job->spec.has_workers());
  EXPECT_FALSE(job->spec.has_restart());
}

TEST(JobOf, AScriptAsTyped_IsRunByPythonUnlessToldNotTo) {
  ProgramRequest request = Typed("./train.py --x");
  Surroundings here = ThisMachine();
  here.python = "/opt/venv/bin/python";
  EXPECT_EQ(Argv(*JobOf(request, here)), "/opt/venv/bin/python -u ./train.py --x");
  request.torchrun.no_python = true;
  EXPECT_EQ(Argv(*JobOf(request, here)), "./train.py --x");
}

TEST(JobOf, NameVariablesAndFolder_AreThoseOfTheCommandLine) {
  ProgramRequest request = Typed("sh -c true");
  request.name = "probe";
  request.env = {"A=1", "B=x=y"};
  request.working_dir = "../grace";
  const auto job = JobOf(request, ThisMachine());
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->spec.name(), "probe");
  EXPECT_THAT(job->spec.command().env(), ElementsAre("A=1", "B=x=y"));
  EXPECT_EQ(job->spec.command().working_dir(), "/home/grace");
  request.working_dir = "/data";
  EXPECT_EQ(JobOf(request, ThisMachine())->spec.command().working_dir(), "/data");
}

}  // namespace
}  // namespace tandem::client
