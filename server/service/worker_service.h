#pragma once

#include <atomic>

#include "server/service/controller.h"
#include "server/service/event_loop.h"
#include "tandem/v1/worker.grpc.pb.h"

namespace tandem::service {

// Hands each connection of an agent to a reactor of its own. Any thread.
class WorkerService : public v1::WorkerService::CallbackService {
 public:
  // Both outlive the service and its calls.
  WorkerService(EventLoop& loop, Controller& controller) : loop_(loop), controller_(controller) {}

  grpc::ServerBidiReactor<v1::WorkerToCoordinator, v1::CoordinatorToWorker>* Connect(
      grpc::CallbackServerContext* context) override;

 private:
  EventLoop& loop_;
  Controller& controller_;
  std::atomic<uint64_t> last_connection_ = 0;
};

}  // namespace tandem::service
