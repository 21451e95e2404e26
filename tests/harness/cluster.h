#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/temporary_folder.h"
#include "tandem/v1/job.grpc.pb.h"
#include "tests/harness/process.h"

namespace tandem::testing {

struct CommandResult {
  int exit_code = -1;
  std::string out;
  std::string err;
};

// A coordinator and workers made of the real binaries, on ports the system chose, in a temporary
// folder. Destroyed: every process is killed and the folder removed.
class Cluster {
 public:
  Cluster();
  ~Cluster();

  const std::string& folder() const { return temporary_.path(); }
  const std::string& grpc_address() const { return grpc_address_; }
  const std::string& http_address() const { return http_address_; }

  // Starts tandemd on the cluster's state directory and waits until it serves. Keeps its ports over
  // a restart, so that workers find it again.
  void StartCoordinator(const std::vector<std::string>& flags = {});
  Process& coordinator() { return *coordinator_; }
  void StopCoordinator();
  void KillCoordinator();

  // What an agent gets besides its usual command line.
  struct WorkerExtras {
    std::vector<std::string> flags;
    std::map<std::string, std::string> environment;
  };
  // Starts an agent with N cpu slots and waits until the coordinator lists it.
  Process& StartWorker(int slots, const WorkerExtras& extras = {});
  Process& worker(size_t index) { return *workers_[index]; }

  // Runs `tandem --coordinator ... ARGS`.
  CommandResult Tandem(const std::vector<std::string>& args,
                       absl::Duration timeout = absl::Seconds(60));
  std::unique_ptr<Process> StartTandem(const std::vector<std::string>& args);

  // Submits the text as a spec file in the cluster's folder; the id of the job.
  std::string Submit(const std::string& yaml, const std::vector<std::string>& args = {});

  v1::Job GetJob(const std::string& id);
  // The job once `condition` holds; a test failure, and the job as it is, when it does not in time.
  v1::Job WaitFor(const std::string& id, const std::function<bool(const v1::Job&)>& condition,
                  absl::Duration timeout = absl::Seconds(60));
  v1::Job WaitUntilEnded(const std::string& id, absl::Duration timeout = absl::Seconds(60));
  std::vector<v1::StepSample> History(const std::string& id);

  v1::JobService::Stub& stub() { return *stub_; }

 private:
  const TemporaryFolder temporary_ = *TemporaryFolder::Create("tandem-e2e");
  const std::string folder_ = temporary_.path();
  std::string grpc_address_, http_address_;
  std::unique_ptr<Process> coordinator_;
  std::vector<std::unique_ptr<Process>> workers_;
  std::unique_ptr<v1::JobService::Stub> stub_;
};

// Absolute path of a binary under test, and of a file of the source tree.
std::string Binary(const std::string& name);
// One that only tests have.
std::string TestBinary(const std::string& name);
std::string Source(const std::string& path);

// A spec on the digits data: `lines` replace or add top-level keys, one a line.
std::string DigitsSpec(const std::string& lines = "");

}  // namespace tandem::testing
