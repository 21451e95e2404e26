#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tandem/v1/job.grpc.pb.h"

namespace httplib {
class Server;
}

namespace tandem::http {

// Where the answers come from. All may be called from several threads at once, and may block for a
// moment.
struct Sources {
  std::shared_ptr<v1::JobService::StubInterface> jobs;
  // OK, or why the daemon cannot do its work.
  std::function<absl::Status()> health;
  // In the Prometheus text format.
  std::function<std::string()> metrics;
};

// For people and for Prometheus. Only reads, so only GET is answered, and HEAD as GET without the body:
//   /                          a page that shows jobs and workers
//   /healthz                   "ok", or 503 with the reason
//   /metrics
//   /api/v1/jobs               ListJobsResponse, and the others likewise, in protobuf's JSON
//   /api/v1/jobs/ID            GetJobResponse
//   /api/v1/jobs/ID/history    GetHistoryResponse; ?from_step=N&page_size=N
//   /api/v1/workers            ListWorkersResponse
// What fails is answered with {"error": "..."} and the HTTP status that fits.
class HttpServer {
 public:
  // Listens and serves until Stop(). Port 0: the system chooses.
  //   Unavailable  the address cannot be listened on.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(const std::string& host, int port,
                                                           Sources sources);
  ~HttpServer();

  int port() const { return port_; }
  // Lets calls under way end, within about a second. Idempotent; from one thread.
  void Stop();

 private:
  explicit HttpServer(Sources sources);

  bool Bind(const std::string& host, int port);
  void AddRoutes();

  const Sources sources_;
  const std::unique_ptr<httplib::Server> server_;
  int port_ = 0;
  std::atomic<bool> ended_ = false;
  std::thread thread_;
};

}  // namespace tandem::http
