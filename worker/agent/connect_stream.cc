#include "worker/agent/connect_stream.h"

#include <utility>

#include "common/frame.h"

namespace tandem::agent {
namespace {

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& coordinator) {
  grpc::ChannelArguments arguments;
  // Each call tries to connect anew, at once: how long to wait between calls is decided by our own
  // policy.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // An unanswered attempt to connect is given up after this.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5000);
  // Pings rarer than any server objects to. What matters is the timeout: it also becomes
  // TCP_USER_TIMEOUT, so a coordinator whose host vanished is noticed when it leaves heartbeats
  // unacknowledged for that long.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 10 * 60 * 1000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10 * 1000);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetMaxReceiveMessageSize(static_cast<int>(kMaxFrameBytes));
  return grpc::CreateCustomChannel(coordinator, grpc::InsecureChannelCredentials(), arguments);
}

}  // namespace

std::shared_ptr<ConnectStream> ConnectStream::Start(EventLoop* loop, const std::string& coordinator,
                                                    Listener* listener) {
  std::shared_ptr<ConnectStream> stream(new ConnectStream(loop, coordinator, listener));
  stream->self_ = stream;
  stream->stub_->async()->Connect(&stream->context_, stream.get());
  // The loop starts operations outside of gRPC's reactions; until it has seen the call break,
  // OnDone waits.
  stream->AddHold();
  stream->StartRead(&stream->incoming_);
  stream->StartCall();
  return stream;
}

ConnectStream::ConnectStream(EventLoop* loop, const std::string& coordinator, Listener* listener)
    : loop_(*loop),
      listener_(*listener),
      stub_(v1::WorkerService::NewStub(MakeChannel(coordinator))) {}

void ConnectStream::Write(v1::WorkerToCoordinator message) {
  outgoing_ = std::move(message);
  if (!broken_) StartWrite(&outgoing_);
}

void ConnectStream::FinishWriting() {
  if (!broken_) StartWritesDone();
}

void ConnectStream::OnReadDone(bool ok) {
  loop_.Post([this, ok, stream = self_] {
    if (!ok) {
      broken_ = true;
      RemoveHold();
      return;
    }
    const v1::CoordinatorToWorker message = std::exchange(incoming_, {});
    StartRead(&incoming_);
    listener_.OnReceived(message);
  });
}

void ConnectStream::OnWriteDone(bool ok) {
  loop_.Post([this, ok, stream = self_] { listener_.OnWritten(ok); });
}

void ConnectStream::OnDone(const grpc::Status& status) {
  loop_.Post([this, status, stream = std::move(self_)] { listener_.OnClosed(status); });
}

}  // namespace tandem::agent
