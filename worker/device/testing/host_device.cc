#include "worker/device/testing/host_device.h"

#include <cstring>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "worker/device/testing/host_tree_sum.h"

namespace tandem::device {
namespace {

HostQueue& QueueOf(Stream& stream) { return static_cast<HostQueue&>(stream); }

}  // namespace

HostDevice::HostDevice(Options options) : options_(std::move(options)), compute_(memory_) {}

absl::StatusOr<std::unique_ptr<Memory>> HostDevice::Allocate(size_t bytes) {
  return memory_->Allocate(bytes);
}

absl::StatusOr<std::unique_ptr<Stream>> HostDevice::MakeStream() {
  return std::make_unique<HostQueue>(memory_);
}

absl::StatusOr<std::unique_ptr<Event>> HostDevice::Record(Stream& stream) {
  return std::make_unique<HostEvent>(QueueOf(stream));
}

absl::Status HostDevice::WaitFor(Stream& stream, const Event& event) {
  static_cast<const HostEvent&>(event).HoldUp(QueueOf(stream));
  return absl::OkStatus();
}

absl::Status HostDevice::Copy(void* to, const void* from, size_t bytes, Stream& stream) {
  if (bytes == 0) return absl::OkStatus();
  QueueOf(stream).Put([time = options_.copy_time] { absl::SleepFor(time); });
  if (Owns(from)) {
    QueueOf(stream).Put([=] { std::memcpy(to, from, bytes); });
    return absl::OkStatus();
  }
  const auto* begin = static_cast<const std::byte*>(from);
  QueueOf(stream).Put([to, kept = std::vector<std::byte>(begin, begin + bytes)] {
    std::memcpy(to, kept.data(), kept.size());
  });
  return absl::OkStatus();
}

absl::Status HostDevice::AddInTree(const TreeSum& sum, Stream& stream) {
  absl::StatusOr<HostTreeSum> work = HostTreeSum::Make(sum);
  if (!work.ok()) return work.status();
  QueueOf(stream).Put(*std::move(work));
  return absl::OkStatus();
}

}  // namespace tandem::device
