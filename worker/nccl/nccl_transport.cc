#include "worker/nccl/nccl_transport.h"

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "worker/nccl/exchange_stream.h"
#include "worker/nccl/nccl_communicator.h"
#include "worker/nccl/staging.h"

namespace tandem::nccl {
namespace {

class NcclExchange : public ddp::PendingExchange {
 public:
  // `name`: for errors.
  NcclExchange(ExchangeStream& stream, std::string name)
      : stream_(stream), name_(std::move(name)) {}

  ~NcclExchange() override {
    if (!waited_) stream_.End(absl::CancelledError("an exchange was given up")).IgnoreError();
  }

  // `prepare` fills in what the exchange does.
  template <typename Prepare>
  void Start(const Prepare& prepare) {
    start_status_ = prepare(exchange_);
    if (start_status_.ok()) start_status_ = stream_.Start(exchange_);
  }

  absl::Status Wait() override {
    waited_ = true;
    absl::Status status =
        start_status_.ok() ? stream_.Await(exchange_) : stream_.End(start_status_);
    if (status.ok()) return status;
    return absl::Status(status.code(), absl::StrCat(name_, ": ", status.message()));
  }

 private:
  ExchangeStream& stream_;
  const std::string name_;
  StreamExchange exchange_;
  absl::Status start_status_;
  bool waited_ = false;
};

// What exchanges take place in.
struct Channel {
  Channel(device::Device& device, const NcclOptions& options,
          std::unique_ptr<NcclCommunicator> connected, std::unique_ptr<device::Stream> exchanges,
          std::unique_ptr<device::Stream> copies)
      : communicator(std::move(connected)),
        staging(device, std::move(copies)),
        stream(device, *communicator, staging, std::move(exchanges),
               {.exchange = options.exchange_timeout, .ending = options.ending_timeout}) {}

  const std::unique_ptr<NcclCommunicator> communicator;
  Staging staging;
  ExchangeStream stream;
};

class NcclTransport : public ddp::Transport {
 public:
  NcclTransport(const ddp::Membership& self, std::unique_ptr<Channel> channel)
      : rank_(self.rank), world_size_(self.world_size), channel_(std::move(channel)) {}

  ~NcclTransport() override {
    channel_->communicator->Finish();
    // Left behind: to give memory or a stream back would wait for the device.
    if (channel_->stream.hangs()) static_cast<void>(channel_.release());
  }

  Rank rank() const override { return rank_; }
  uint32_t world_size() const override { return world_size_; }

  std::unique_ptr<ddp::PendingExchange> StartAllGather(absl::Span<std::byte> slots) override {
    const size_t slot_bytes = slots.size() / world_size_;
    return Start("all-gather", slots.size(), [&](StreamExchange& exchange) {
      const absl::StatusOr<std::byte*> data =
          UseInPlace(exchange, slots, rank_.value() * slot_bytes, slot_bytes);
      if (data.ok()) exchange.calls = GatherCalls(*data, slot_bytes, rank_.value());
      return data.status();
    });
  }

  std::unique_ptr<ddp::PendingExchange> StartAllToAll(absl::Span<const std::byte> send,
                                                      absl::Span<std::byte> receive) override {
    return Start("all-to-all", send.size(), [&](StreamExchange& exchange) {
      const absl::StatusOr<const std::byte*> from = UseAsInput(exchange, send);
      if (!from.ok()) return from.status();
      const absl::StatusOr<std::byte*> to = UseInPlace(exchange, receive, 0, 0);
      if (!to.ok()) return to.status();
      exchange.calls = AllToAllCalls(*from, *to, send.size() / world_size_, world_size_);
      return absl::OkStatus();
    });
  }

  std::unique_ptr<ddp::PendingExchange> StartAllReduceSum(absl::Span<float> values) override {
    const absl::Span<std::byte> bytes(reinterpret_cast<std::byte*>(values.data()),
                                      values.size() * sizeof(float));
    return Start("all-reduce", bytes.size(), [&](StreamExchange& exchange) {
      const absl::StatusOr<std::byte*> data = UseInPlace(exchange, bytes, 0, bytes.size());
      if (data.ok()) exchange.calls = SumCalls(reinterpret_cast<float*>(*data), values.size());
      return data.status();
    });
  }

  absl::Status Broadcast(absl::Span<std::byte> data, Rank root) override {
    const auto exchange = Start("broadcast", data.size(), [&](StreamExchange& exchange) {
      const size_t given = rank_ == root ? data.size() : 0;
      const absl::StatusOr<std::byte*> copy = UseInPlace(exchange, data, 0, given);
      if (copy.ok()) exchange.calls = BroadcastCalls(*copy, data.size(), root.value());
      return copy.status();
    });
    return exchange->Wait();
  }

  absl::Status Barrier() override {
    std::vector<std::byte> slots(world_size_);
    return AllGather(absl::MakeSpan(slots));
  }

  void Abort() override {
    channel_->communicator->End(absl::CancelledError("the exchange was aborted")).IgnoreError();
  }

 private:
  // `prepare` says what the exchange does.
  template <typename Prepare>
  std::unique_ptr<ddp::PendingExchange> Start(const char* kind, size_t bytes,
                                              const Prepare& prepare) {
    auto exchange = std::make_unique<NcclExchange>(
        channel_->stream, absl::StrFormat("%s of %d bytes, exchange %d", kind, bytes, ++started_));
    exchange->Start([&](StreamExchange& inside) {
      // Nothing is copied to a device that may hang.
      absl::Status ended = channel_->communicator->Cause();
      return ended.ok() ? prepare(inside) : ended;
    });
    return exchange;
  }

  // These return where the buffer is for the device. Of one that is changed in place, [begin, begin +
  // given) is what this rank gives.
  absl::StatusOr<std::byte*> UseInPlace(StreamExchange& exchange, absl::Span<std::byte> buffer,
                                        size_t begin, size_t given) {
    absl::StatusOr<Staging::Buffer> staged = channel_->staging.Stage(buffer);
    if (!staged.ok()) return staged.status();
    exchange.outputs.push_back(*std::move(staged));
    absl::Status status = exchange.outputs.back().CopyIn(begin, given);
    if (!status.ok()) return status;
    return exchange.outputs.back().data();
  }

  absl::StatusOr<const std::byte*> UseAsInput(StreamExchange& exchange,
                                              absl::Span<const std::byte> buffer) {
    // Nothing writes to an input.
    absl::StatusOr<Staging::Buffer> staged =
        channel_->staging.Stage({const_cast<std::byte*>(buffer.data()), buffer.size()});
    if (!staged.ok()) return staged.status();
    exchange.inputs.push_back(*std::move(staged));
    absl::Status status = exchange.inputs.back().CopyIn(0, buffer.size());
    if (!status.ok()) return status;
    return exchange.inputs.back().data();
  }

  const Rank rank_;
  const uint32_t world_size_;
  std::unique_ptr<Channel> channel_;
  uint64_t started_ = 0;  // the same on every rank, for errors
};

absl::StatusOr<NcclUniqueId> IdFrom(const std::string& text) {
  NcclUniqueId id;
  if (text.size() != sizeof(id.bytes)) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "the ranks' unique id has %d bytes instead of %d", text.size(), sizeof(id.bytes)));
  }
  std::memcpy(id.bytes, text.data(), sizeof(id.bytes));
  return id;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ddp::Transport>> ConnectNccl(const NcclLibrary& library,
                                                            device::Device& device,
                                                            const ddp::Membership& self,
                                                            const std::string& unique_id,
                                                            const NcclOptions& options) {
  const absl::StatusOr<NcclUniqueId> id = IdFrom(unique_id);
  if (!id.ok()) return id.status();
  absl::StatusOr<std::unique_ptr<device::Stream>> exchanges = device.MakeStream();
  if (!exchanges.ok()) return exchanges.status();
  absl::StatusOr<std::unique_ptr<device::Stream>> copies = device.MakeStream();
  if (!copies.ok()) return copies.status();
  auto communicator = std::make_unique<NcclCommunicator>(library, options.ending_timeout);
  absl::Status connected = communicator->Connect(self, *id, options.connect_timeout);
  if (!connected.ok()) return connected;
  return std::make_unique<NcclTransport>(
      self, std::make_unique<Channel>(device, options, std::move(communicator),
                                      *std::move(exchanges), *std::move(copies)));
}

}  // namespace tandem::nccl
