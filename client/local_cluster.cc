#include "client/local_cluster.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace tandem::client {
namespace {

constexpr absl::Duration kStopGrace = absl::Seconds(5);
constexpr absl::Duration kBetweenLooks = absl::Milliseconds(5);

// Of the gRPC line in what `tandemd --port-file` writes, all at once; empty while there is no file.
std::string AddressIn(const std::string& port_file) {
  std::ifstream file(port_file);
  std::string kind, address;
  while (file >> kind >> address) {
    if (kind == "grpc") return address;
  }
  return "";
}

}  // namespace

std::string LocalCluster::FolderOfThisProgram() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path().string();
}

absl::StatusOr<std::unique_ptr<LocalCluster>> LocalCluster::Start(const Options& options,
                                                                  Interrupts* interrupts) {
  auto folder = TemporaryFolder::Create("tandem-local");
  if (!folder.ok()) return folder.status();
  std::unique_ptr<LocalCluster> cluster(new LocalCluster(*std::move(folder)));
  absl::Status status = cluster->StartCoordinator(options, interrupts);
  if (status.ok()) status = cluster->StartWorker(options, interrupts);
  if (!status.ok()) return status;
  return cluster;
}

absl::Status LocalCluster::StartCoordinator(const Options& options, Interrupts* interrupts) {
  auto started = ChildProcess::Start(
      {{absl::StrCat(options.folder_of_programs, "/tandemd"), "--listen", "127.0.0.1:0", "--http",
        "127.0.0.1:0", "--state-dir", folder_.File("state"), "--port-file", folder_.File("ports")},
       folder_.File("tandemd.log"),
       [interrupts] { interrupts->Notify(); }});
  if (!started.ok()) return started.status();
  coordinator_ = *std::move(started);
  return AwaitAddress(options.start_timeout, *interrupts);
}

absl::Status LocalCluster::AwaitAddress(absl::Duration timeout, const Interrupts& interrupts) {
  const absl::Time deadline = absl::Now() + timeout;
  while ((address_ = AddressIn(folder_.File("ports"))).empty()) {
    if (coordinator_->has_ended()) return Failure();
    if (absl::Now() > deadline) {
      return absl::UnavailableError(
          absl::StrCat("tandemd does not listen after ", absl::FormatDuration(timeout)));
    }
    const bool interrupted = interrupts.WaitFor(kBetweenLooks, 0);
    if (interrupted && !coordinator_->has_ended()) return absl::CancelledError("interrupted");
  }
  return absl::OkStatus();
}

absl::Status LocalCluster::StartWorker(const Options& options, Interrupts* interrupts) {
  auto started =
      ChildProcess::Start({{absl::StrCat(options.folder_of_programs, "/tandem-worker"),
                            "--coordinator", address_, "--slots", options.slots, "--name", "local",
                            "--allow-commands", "--log-dir", folder_.File("logs")},
                           folder_.File("tandem-worker.log"),
                           [interrupts] { interrupts->Notify(); }});
  if (!started.ok()) return started.status();
  worker_ = *std::move(started);
  return absl::OkStatus();
}

absl::Status LocalCluster::Failure() const {
  for (const ChildProcess* child : {coordinator_.get(), worker_.get()}) {
    if (child != nullptr && child->has_ended()) return absl::UnavailableError(child->Obituary());
  }
  return absl::OkStatus();
}

void LocalCluster::Stop() {
  for (auto* child : {&worker_, &coordinator_}) {
    if (*child != nullptr) (*child)->Stop(kStopGrace);
    child->reset();
  }
}

}  // namespace tandem::client
