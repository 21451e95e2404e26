#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

namespace tandem::ddp {

// The sends and receives of one exchange, moved by Gloo's device thread. Messages between each two
// ranks rather than one of Gloo's collectives: they can be aborted, and an error names its peer.
//
// Behind every message goes an end mark with its size, and all end marks are waited for first:
//  - Gloo does not tell a receive that has begun when its connection closes, only those that wait
//    for their turn, as the end mark then does.
//  - A message that is larger than the receive it meets would end the process. So it goes in
//    portions, whole units and then the rest, whose sizes have a tag each: a portion meets a
//    receive of its own size or none, and the end mark tells.
class GlooMessages {
 public:
  using Gloo = c10::intrusive_ptr<c10d::ProcessGroupGloo>;

  // `number` is that of the exchange, the same on both ends.
  GlooMessages(Gloo gloo, uint64_t number, absl::Duration timeout);

  // Return at once; Wait tells if one failed. The bytes outlive this object.
  void Send(absl::Span<const std::byte> data, uint32_t peer);
  void Receive(absl::Span<std::byte> data, uint32_t peer);

  // Until all are over. Errors as Transport.
  absl::Status Wait() const;

  // Any thread, also while another is in Wait.
  void Abort() const;

 private:
  struct Message {
    const char* direction;
    uint32_t peer;
    uint64_t bytes;
    std::unique_ptr<uint64_t> end_mark;  // the size on the other side
    std::vector<c10::intrusive_ptr<c10d::Work>> portions;
    c10::intrusive_ptr<c10d::Work> end;
  };

  template <typename PostBytes>
  void Post(const char* direction, uint32_t peer, absl::Span<const std::byte> data,
            const PostBytes& post);
  int TagOfPortion(uint64_t bytes) const;
  absl::Status WaitForEnd(const Message& message) const;
  absl::Status WaitFor(c10d::Work& work, const Message& message) const;

  const Gloo gloo_;
  const int end_tag_;
  const std::chrono::milliseconds timeout_;
  absl::Status post_status_;
  std::vector<Message> messages_;
};

// What an exchange ends with after Transport::Abort.
absl::Status AbortedStatus();

}  // namespace tandem::ddp
