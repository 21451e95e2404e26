#include "worker/ddp/gloo_messages.h"

#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "worker/ddp/torch_status.h"

namespace tandem::ddp {
namespace {

// Of a portion, which is less than a unit, or whole units.
constexpr uint64_t kUnit = uint64_t{1} << 17;
constexpr uint64_t kMaxUnits = kUnit - 1;  // nearly 16 GiB

// Of the positive values of an int. There never are that many exchanges under way.
constexpr uint64_t kNumbers = uint64_t{1} << 12;
constexpr uint64_t kTagsPerNumber = 2 * kUnit;  // 0 is the end mark's

size_t NextPortion(uint64_t bytes) {
  return bytes < kUnit ? bytes : std::min(bytes / kUnit, kMaxUnits) * kUnit;
}

// Owns nothing: the bytes outlive it. Only a receive writes to them.
at::Tensor ViewOf(absl::Span<const std::byte> bytes) {
  return at::from_blob(const_cast<std::byte*>(bytes.data()), {static_cast<int64_t>(bytes.size())},
                       at::kByte);
}

absl::Status Failure(const std::exception& error, const char* direction, uint32_t peer) {
  return StatusFromException(error, absl::StrFormat("%s rank %d failed", direction, peer));
}

}  // namespace

absl::Status AbortedStatus() { return absl::CancelledError("the exchange was aborted"); }

GlooMessages::GlooMessages(Gloo gloo, uint64_t number, absl::Duration timeout)
    : gloo_(std::move(gloo)),
      end_tag_(static_cast<int>(number % kNumbers * kTagsPerNumber)),
      timeout_(absl::ToChronoMilliseconds(timeout)) {}

void GlooMessages::Send(absl::Span<const std::byte> data, uint32_t peer) {
  Post("sending to", peer, data, [this, peer](std::vector<at::Tensor> bytes, int tag) {
    return gloo_->send(bytes, static_cast<int>(peer), tag);
  });
}

void GlooMessages::Receive(absl::Span<std::byte> data, uint32_t peer) {
  Post("receiving from", peer, data, [this, peer](std::vector<at::Tensor> bytes, int tag) {
    return gloo_->recv(bytes, static_cast<int>(peer), tag);
  });
}

absl::Status GlooMessages::Wait() const {
  if (!post_status_.ok()) return post_status_;
  for (const Message& message : messages_) {
    if (absl::Status status = WaitForEnd(message); !status.ok()) return status;
  }
  for (const Message& message : messages_) {
    for (const auto& portion : message.portions) {
      if (absl::Status status = WaitFor(*portion, message); !status.ok()) return status;
    }
  }
  return absl::OkStatus();
}

void GlooMessages::Abort() const {
  for (const Message& message : messages_) {
    for (const auto& portion : message.portions) portion->abort();
    message.end->abort();
  }
}

template <typename PostBytes>
void GlooMessages::Post(const char* direction, uint32_t peer, absl::Span<const std::byte> data,
                        const PostBytes& post) {
  if (!post_status_.ok()) return;
  Message message = {direction, peer, data.size(), std::make_unique<uint64_t>(data.size()), {}, {}};
  try {
    while (!data.empty()) {
      const auto portion = data.first(NextPortion(data.size()));
      message.portions.push_back(post({ViewOf(portion)}, TagOfPortion(portion.size())));
      data.remove_prefix(portion.size());
    }
    const auto* end_mark = reinterpret_cast<const std::byte*>(message.end_mark.get());
    message.end = post({ViewOf({end_mark, sizeof(uint64_t)})}, end_tag_);
    messages_.push_back(std::move(message));
  } catch (const std::exception& error) {
    post_status_ = Failure(error, direction, peer);
  }
}

int GlooMessages::TagOfPortion(uint64_t bytes) const {
  return end_tag_ + static_cast<int>(bytes < kUnit ? bytes : kUnit + bytes / kUnit);
}

absl::Status GlooMessages::WaitForEnd(const Message& message) const {
  if (absl::Status status = WaitFor(*message.end, message); !status.ok()) return status;
  if (*message.end_mark == message.bytes) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrFormat("rank %d is in another exchange, of %d bytes instead of %d; see its log",
                      message.peer, *message.end_mark, message.bytes));
}

absl::Status GlooMessages::WaitFor(c10d::Work& work, const Message& message) const {
  try {
    return work.wait(timeout_) ? absl::OkStatus() : AbortedStatus();
  } catch (const std::exception& error) {
    return Failure(error, message.direction, message.peer);
  }
}

}  // namespace tandem::ddp
