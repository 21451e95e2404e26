#include "server/service/worker_streams.h"

#include <utility>

namespace tandem::service {

void WorkerStreams::Add(core::ConnectionId connection, WorkerStream* stream) {
  streams_.emplace(connection, stream);
  if (!shut_down_.ok()) stream->Close(shut_down_);
}

void WorkerStreams::Send(core::ConnectionId connection, v1::CoordinatorToWorker message) {
  const auto found = streams_.find(connection);
  if (found != streams_.end()) found->second->Send(std::move(message));
}

void WorkerStreams::Close(core::ConnectionId connection, absl::Status status) {
  const auto found = streams_.find(connection);
  if (found != streams_.end()) found->second->Close(std::move(status));
}

void WorkerStreams::ReadNext(core::ConnectionId connection) {
  const auto found = streams_.find(connection);
  if (found != streams_.end()) found->second->ReadNext();
}

void WorkerStreams::Shutdown(absl::Status status) {
  shut_down_ = std::move(status);
  for (const auto& [connection, stream] : streams_) stream->Close(shut_down_);
}

}  // namespace tandem::service
