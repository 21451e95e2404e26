#include "server/service/worker_service.h"

#include "server/service/worker_reactor.h"

namespace tandem::service {

grpc::ServerBidiReactor<v1::WorkerToCoordinator, v1::CoordinatorToWorker>* WorkerService::Connect(
    grpc::CallbackServerContext* context) {
  return new WorkerReactor(loop_, controller_, *context, core::ConnectionId(++last_connection_));
}

}  // namespace tandem::service
