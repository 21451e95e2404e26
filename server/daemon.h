#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "common/clock.h"
#include "common/host_port.h"
#include "server/http/http_server.h"
#include "server/metrics/metrics.h"
#include "server/options.h"
#include "server/service/controller.h"
#include "server/service/event_loop.h"
#include "server/service/job_service.h"
#include "server/service/worker_service.h"
#include "server/store/log_store.h"
#include "server/store/sqlite_journal.h"
#include "server/store/state_lock.h"

namespace tandem {

// The coordinator, whole: state directory, core on its loop, gRPC and HTTP.
class Daemon {
 public:
  // Serves from the moment it returns. `clock` outlives the daemon.
  //   InvalidArgument     an address is not one; the message names the flag.
  //   FailedPrecondition  the state directory is in use, or was written by a newer tandemd.
  //   DataLoss            the journal is damaged; the message says what to do.
  //   Unavailable         an address cannot be listened on; the message says why.
  //   Internal            the state directory cannot be used.
  static absl::StatusOr<std::unique_ptr<Daemon>> Start(const DaemonOptions& options,
                                                       const Clock& clock, service::LogSink log);
  // As Stop().
  ~Daemon();

  // Where it listens, with the ports that were chosen.
  const HostPort& grpc_address() const { return grpc_address_; }
  const HostPort& http_address() const { return http_address_; }
  // For clients in this process.
  std::shared_ptr<grpc::Channel> InProcessChannel();

  // Ends all streams, answers what is under way, and leaves the jobs on disk as they are. Takes at
  // most about two seconds. Idempotent.
  void Stop();

 private:
  // What stands on disk.
  struct State {
    store::StateLock lock;
    std::unique_ptr<store::SqliteJournal> journal;
    std::unique_ptr<store::LogStore> logs;
  };

  Daemon(State state, const core::Options& options, const Clock& clock, service::LogSink log);

  static absl::StatusOr<State> OpenState(const std::string& state_dir);
  absl::Status StartGrpc(const HostPort& address);
  absl::Status StartHttp(const HostPort& address);
  absl::Status Health();
  std::string MetricsText();

  State state_;
  prometheus::Registry registry_;
  metrics::Metrics metrics_;
  // Of the loop's thread, once that runs.
  service::Controller controller_;
  service::EventLoop loop_;
  service::JobService job_service_;
  service::WorkerService worker_service_;
  HostPort grpc_address_;
  std::unique_ptr<grpc::Server> grpc_server_;
  HostPort http_address_;
  std::unique_ptr<http::HttpServer> http_server_;
};

}  // namespace tandem
