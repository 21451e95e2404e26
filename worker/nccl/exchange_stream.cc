#include "worker/nccl/exchange_stream.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "worker/nccl/patience.h"

namespace tandem::nccl {
namespace {

template <typename Predicate>
bool AnyBuffer(const StreamExchange& exchange, const Predicate& predicate) {
  return std::any_of(exchange.inputs.begin(), exchange.inputs.end(), predicate) ||
         std::any_of(exchange.outputs.begin(), exchange.outputs.end(), predicate);
}

bool IsCopy(const Staging::Buffer& buffer) { return buffer.is_copy(); }
bool IsDevices(const Staging::Buffer& buffer) { return !buffer.is_copy(); }

}  // namespace

absl::Status ExchangeStream::Start(StreamExchange& exchange) {
  if (AnyBuffer(exchange, IsCopy)) {
    absl::Status status = BeginAfter(staging_.stream(), exchange);
    if (!status.ok()) return status;
  }
  if (AnyBuffer(exchange, IsDevices)) {
    absl::Status status = BeginAfter(device_.ComputeStream(), exchange);
    if (!status.ok()) return status;
  }
  queue_.push_back(&exchange);
  return MoveOn();
}

absl::Status ExchangeStream::BeginAfter(device::Stream& other, StreamExchange& exchange) {
  absl::StatusOr<std::unique_ptr<device::Event>> event = device_.Record(other);
  if (!event.ok()) return event.status();
  exchange.after.push_back(*std::move(event));
  return absl::OkStatus();
}

absl::Status ExchangeStream::Await(StreamExchange& exchange) {
  absl::Status status = AwaitEvent(exchange);
  if (status.ok()) status = CopyOut(exchange);
  return status.ok() ? status : End(std::move(status));
}

absl::Status ExchangeStream::AwaitEvent(const StreamExchange& exchange) {
  const absl::StatusOr<bool> over =
      Patience(timeouts_.exchange).Until([&] { return IsOver(exchange); });
  if (!over.ok()) return over.status();
  if (*over) return absl::OkStatus();
  return absl::DeadlineExceededError(
      absl::StrCat("a peer was silent for ", absl::FormatDuration(timeouts_.exchange),
                   ", or is in an exchange of another size; see the logs of the others"));
}

absl::StatusOr<bool> ExchangeStream::IsOver(const StreamExchange& exchange) {
  // In this order: an exchange that was ended is over too, without its bytes.
  absl::StatusOr<bool> reached = exchange.over ? exchange.over->Reached() : false;
  if (absl::Status status = Advance(); !status.ok()) return status;
  return reached;
}

absl::Status ExchangeStream::Advance() {
  while (true) {
    const absl::StatusOr<bool> ready = communicator_.Ready();
    if (!ready.ok()) return ready.status();
    if (!*ready || queue_.empty()) return absl::OkStatus();
    StreamExchange& next = *queue_.front();
    if (!next.launched) {
      if (absl::Status status = Launch(next); !status.ok()) return status;
      continue;
    }
    absl::StatusOr<std::unique_ptr<device::Event>> over = device_.Record(*stream_);
    if (!over.ok()) return over.status();
    next.over = *std::move(over);
    queue_.pop_front();
  }
}

// Without this pause, of a header and its values that are started together the values would be left in
// the queue, and half of all exchanges would begin only when somebody waits.
absl::Status ExchangeStream::MoveOn() {
  const auto all_launched = [this]() -> absl::StatusOr<bool> {
    if (absl::Status status = Advance(); !status.ok()) return status;
    return queue_.empty();
  };
  return Patience(kLaunching).Until(all_launched).status();
}

absl::Status ExchangeStream::Launch(StreamExchange& exchange) {
  for (const auto& event : exchange.after) {
    if (absl::Status status = device_.WaitFor(*stream_, *event); !status.ok()) return status;
  }
  exchange.launched = true;
  return communicator_.Launch([&](const NcclApi& api, NcclComm* comm) {
    return exchange.calls(api, comm, stream_->handle());
  });
}

absl::Status ExchangeStream::CopyOut(const StreamExchange& exchange) {
  if (std::none_of(exchange.outputs.begin(), exchange.outputs.end(), IsCopy)) {
    return absl::OkStatus();
  }
  for (const Staging::Buffer& output : exchange.outputs) {
    if (absl::Status status = output.CopyOut(); !status.ok()) return status;
  }
  return Idle(staging_.stream(), timeouts_.exchange);
}

absl::Status ExchangeStream::End(absl::Status cause) {
  absl::Status first = communicator_.End(std::move(cause));
  queue_.clear();
  if (!hangs()) hangs_ = !LetsGo(*stream_) || !LetsGo(staging_.stream());
  return first;
}

// A device that fails even at this has nothing under way any more.
bool ExchangeStream::LetsGo(device::Stream& stream) {
  return !absl::IsDeadlineExceeded(Idle(stream, timeouts_.ending));
}

absl::Status ExchangeStream::Idle(device::Stream& stream, absl::Duration timeout) {
  const absl::StatusOr<std::unique_ptr<device::Event>> event = device_.Record(stream);
  if (!event.ok()) return event.status();
  const absl::StatusOr<bool> over = Patience(timeout).Until([&] { return (*event)->Reached(); });
  if (!over.ok()) return over.status();
  if (*over) return absl::OkStatus();
  return absl::DeadlineExceededError(
      absl::StrCat("the device did not end its work within ", absl::FormatDuration(timeout)));
}

}  // namespace tandem::nccl
