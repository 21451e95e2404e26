#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/child_process.h"
#include "client/interrupts.h"
#include "common/temporary_folder.h"

namespace tandem::client {

// A coordinator and one worker of this machine, for one job: children of this process, on ports
// that the system chose, with their state in a temporary folder. Nothing of it is left afterwards.
class LocalCluster {
 public:
  struct Options {
    // Where tandemd and tandem-worker are.
    std::string folder_of_programs;
    // As tandem-worker --slots takes it.
    std::string slots = "cpu:1";
    absl::Duration start_timeout = absl::Seconds(10);
  };

  // The folder of this very program.
  static std::string FolderOfThisProgram();

  // Returns when the coordinator listens. `interrupts` is notified when one of the two ends by
  // itself; see Failure. To be called from the main thread; `interrupts` outlives the cluster.
  //   NotFound     a program is missing, or cannot be started.
  //   Unavailable  the coordinator ended, or did not listen in time.
  //   Cancelled    interrupted.
  static absl::StatusOr<std::unique_ptr<LocalCluster>> Start(const Options& options,
                                                             Interrupts* interrupts);
  ~LocalCluster() { Stop(); }

  // "127.0.0.1:PORT".
  const std::string& address() const { return address_; }

  //   Unavailable  a program has ended by itself; the message has its last lines.
  absl::Status Failure() const;

  // Stops the worker, which ends its ranks, then the coordinator.
  void Stop();

 private:
  explicit LocalCluster(TemporaryFolder folder) : folder_(std::move(folder)) {}
  absl::Status StartCoordinator(const Options& options, Interrupts* interrupts);
  absl::Status StartWorker(const Options& options, Interrupts* interrupts);
  absl::Status AwaitAddress(absl::Duration timeout, const Interrupts& interrupts);

  const TemporaryFolder folder_;
  std::string address_;
  std::unique_ptr<ChildProcess> coordinator_;
  std::unique_ptr<ChildProcess> worker_;
};

}  // namespace tandem::client
