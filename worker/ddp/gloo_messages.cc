#include "worker/ddp/gloo_messages.h"

#include <ATen/ops/from_blob.h>

#include <utility>

#include "absl/strings/str_format.h"
#include "common/keyed_hash.h"
#include "worker/ddp/torch_status.h"

namespace tandem::ddp {
namespace {

// Of the positive values of an int. There never are that many exchanges under way.
constexpr uint64_t kNumbers = uint64_t{1} << 12;
constexpr uint64_t kTagsPerNumber = uint64_t{1} << 18;

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
  Post("sending to", peer, data, [this, peer](std::vector<at::Tensor>& bytes, int tag) {
    return gloo_->send(bytes, static_cast<int>(peer), tag);
  });
}

void GlooMessages::Receive(absl::Span<std::byte> data, uint32_t peer) {
  Post("receiving from", peer, data, [this, peer](std::vector<at::Tensor>& bytes, int tag) {
    return gloo_->recv(bytes, static_cast<int>(peer), tag);
  });
}

absl::Status GlooMessages::Wait() const {
  if (!post_status_.ok()) return post_status_;
  for (const Message& message : messages_) {
    if (absl::Status status = WaitForEnd(message); !status.ok()) return status;
  }
  for (const Message& message : messages_) {
    if (absl::Status status = WaitFor(*message.data, message); !status.ok()) return status;
  }
  return absl::OkStatus();
}

void GlooMessages::Abort() const {
  for (const Message& message : messages_) {
    message.data->abort();
    message.end->abort();
  }
}

template <typename PostBytes>
void GlooMessages::Post(const char* direction, uint32_t peer, absl::Span<const std::byte> data,
                        const PostBytes& post) {
  if (!post_status_.ok()) return;
  auto end_mark = std::make_unique<uint64_t>(data.size());
  std::vector<at::Tensor> bytes = {ViewOf(data)};
  std::vector<at::Tensor> end = {
      ViewOf({reinterpret_cast<const std::byte*>(end_mark.get()), sizeof(*end_mark)})};
  try {
    messages_.push_back({direction, peer, data.size(), std::move(end_mark),
                         post(bytes, DataTag(data.size())), post(end, end_tag_)});
  } catch (const std::exception& error) {
    post_status_ = Failure(error, direction, peer);
  }
}

int GlooMessages::DataTag(uint64_t bytes) const {
  return end_tag_ + 1 + static_cast<int>(Scramble(bytes) % (kTagsPerNumber - 1));
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
