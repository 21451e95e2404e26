#include "tests/harness/cluster.h"

#include <signal.h>
#include <stdlib.h>

#include <filesystem>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/job_state.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"

namespace tandem::testing {
namespace {

constexpr absl::Duration kStartTimeout = absl::Seconds(20);

std::string Address(const std::string& port_file, const std::string& name) {
  for (absl::string_view line : absl::StrSplit(port_file, '\n')) {
    if (absl::ConsumePrefix(&line, name + " ")) return std::string(line);
  }
  return "";
}

}  // namespace

Cluster::Cluster() : grpc_address_("127.0.0.1:0"), http_address_("127.0.0.1:0") {}

Cluster::~Cluster() {
  workers_.clear();
  coordinator_.reset();
}

void Cluster::StartCoordinator(const std::vector<std::string>& flags) {
  const std::string port_file = folder_ + "/ports";
  std::filesystem::remove(port_file);
  std::vector<std::string> argv = {Binary("tandemd"), "--state-dir", folder_ + "/state",
                                   "--listen",        grpc_address_, "--http",
                                   http_address_,     "--port-file", port_file};
  argv.insert(argv.end(), flags.begin(), flags.end());
  coordinator_ = std::make_unique<Process>(Process::Options{argv, {}, folder_});
  ASSERT_TRUE(Eventually(kStartTimeout, [&] { return std::filesystem::exists(port_file); }))
      << coordinator_->Stderr();
  grpc_address_ = Address(ReadFile(port_file), "grpc");
  http_address_ = Address(ReadFile(port_file), "http");
  stub_ = v1::JobService::NewStub(
      grpc::CreateChannel(grpc_address_, grpc::InsecureChannelCredentials()));
}

void Cluster::StopCoordinator() {
  coordinator_->Signal(SIGTERM);
  EXPECT_EQ(coordinator_->Wait(absl::Seconds(5)), 0) << coordinator_->Stderr();
}

void Cluster::KillCoordinator() {
  coordinator_->Signal(SIGKILL);
  EXPECT_EQ(coordinator_->Wait(absl::Seconds(5)), 128 + SIGKILL);
}

Process& Cluster::StartWorker(int slots, const WorkerExtras& extras) {
  const std::string name = absl::StrCat("worker-", workers_.size());
  std::vector<std::string> argv = {Binary("tandem-worker"),
                                   "--coordinator",
                                   grpc_address_,
                                   "--slots",
                                   absl::StrCat("cpu:", slots),
                                   "--name",
                                   name,
                                   "--log-dir",
                                   absl::StrCat(folder_, "/logs-", name)};
  argv.insert(argv.end(), extras.flags.begin(), extras.flags.end());
  workers_.push_back(
      std::make_unique<Process>(Process::Options{argv, extras.environment, folder_}));
  EXPECT_TRUE(Eventually(kStartTimeout, [&] {
    grpc::ClientContext context;
    v1::ListWorkersResponse response;
    if (!stub_->ListWorkers(&context, {}, &response).ok()) return false;
    for (const v1::Worker& worker : response.workers()) {
      if (worker.name() == name) return true;
    }
    return false;
  })) << workers_.back()->Stderr();
  return *workers_.back();
}

std::unique_ptr<Process> Cluster::StartTandem(const std::vector<std::string>& args) {
  std::vector<std::string> argv = {Binary("tandem"), "--coordinator", grpc_address_};
  argv.insert(argv.end(), args.begin(), args.end());
  return std::make_unique<Process>(Process::Options{argv, {{"NO_COLOR", "1"}}, folder_});
}

CommandResult Cluster::Tandem(const std::vector<std::string>& args, absl::Duration timeout) {
  std::unique_ptr<Process> process = StartTandem(args);
  const std::optional<int> code = process->Wait(timeout);
  EXPECT_TRUE(code.has_value()) << "still running: tandem " << args.front();
  return {code.value_or(-1), process->Stdout(), process->Stderr()};
}

std::string Cluster::Submit(const std::string& yaml, const std::vector<std::string>& args) {
  const std::string path = folder_ + "/spec.yaml";
  WriteFile(path, yaml);
  std::vector<std::string> all = {"submit", path};
  all.insert(all.end(), args.begin(), args.end());
  const CommandResult result = Tandem(all);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return std::string(absl::StripSuffix(result.out, "\n"));
}

v1::Job Cluster::GetJob(const std::string& id) {
  grpc::ClientContext context;
  v1::GetJobRequest request;
  request.set_job_id(id);
  v1::GetJobResponse response;
  const grpc::Status status = stub_->GetJob(&context, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response.job();
}

v1::Job Cluster::WaitFor(const std::string& id,
                         const std::function<bool(const v1::Job&)>& condition,
                         absl::Duration timeout) {
  v1::Job job;
  EXPECT_TRUE(Eventually(timeout, [&] {
    job = GetJob(id);
    return condition(job);
  })) << job.DebugString();
  return job;
}

v1::Job Cluster::WaitUntilEnded(const std::string& id, absl::Duration timeout) {
  return WaitFor(
      id, [](const v1::Job& job) { return HasEnded(job.state()); }, timeout);
}

std::vector<v1::StepSample> Cluster::History(const std::string& id) {
  std::vector<v1::StepSample> all;
  v1::GetHistoryRequest request;
  request.set_job_id(id);
  do {
    grpc::ClientContext context;
    v1::GetHistoryResponse response;
    const grpc::Status status = stub_->GetHistory(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    all.insert(all.end(), response.samples().begin(), response.samples().end());
    request.set_from_step(response.next_step());
  } while (request.from_step() != 0);
  return all;
}

std::string Binary(const std::string& name) { return absl::StrCat(TANDEM_BINARIES, "/", name); }
std::string TestBinary(const std::string& name) {
  return absl::StrCat(TANDEM_TEST_BINARIES, "/", name);
}
std::string Source(const std::string& path) { return absl::StrCat(TANDEM_SOURCE, "/", path); }

std::string DigitsSpec(const std::string& lines) {
  std::map<std::string, std::string> keys = {
      {"name", "digits"},
      {"workers", "2"},
      {"logical_ranks", "2"},
      {"global_batch_size", "64"},
      {"steps", "30"},
      {"data", absl::StrCat("{csv: {path: ", Source("examples/data/digits.csv"),
                            ", classes: 10, scale: 0.0625}}")},
      {"model", "{mlp: {hidden: [32], dropout: 0.2}}"},
      {"optimizer", "{adamw: {lr: 0.001}}"}};
  for (absl::string_view line : absl::StrSplit(lines, '\n', absl::SkipWhitespace())) {
    const std::pair<std::string, std::string> pair =
        absl::StrSplit(absl::StripLeadingAsciiWhitespace(line), absl::MaxSplits(": ", 1));
    if (pair.first == "epochs") keys.erase("steps");
    keys[pair.first] = pair.second;
  }
  std::string yaml;
  for (const auto& [key, value] : keys) absl::StrAppend(&yaml, key, ": ", value, "\n");
  return yaml;
}

}  // namespace tandem::testing
