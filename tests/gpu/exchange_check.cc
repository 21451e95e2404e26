// tandem-exchange-check: a communicator of one rank on a real device, and every exchange in it, in main
// memory and in the device's. Prints what it saw as JSON, and ends with 1 where an exchange left other
// bytes than it should.
//
//   tandem-exchange-check KIND       KIND: cuda; or cpu, for the host in place of a device
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/answer_output.h"
#include "worker/device/device_library.h"
#include "worker/device/testing/host_device.h"
#include "worker/nccl/nccl_library.h"
#include "worker/nccl/nccl_transport.h"

namespace tandem {
namespace {

constexpr size_t kFloats = 100'003;
constexpr size_t kBytes = kFloats * sizeof(float);

// A buffer in main memory or on the device, that can be filled and read.
class Buffer {
 public:
  Buffer(device::Device& device, bool on_device) : device_(device), main_(kFloats) {
    if (on_device) memory_ = *device.Allocate(kBytes);
  }

  absl::Span<float> floats() {
    if (memory_ == nullptr) return absl::MakeSpan(main_);
    return {reinterpret_cast<float*>(memory_->data()), kFloats};
  }
  absl::Span<std::byte> bytes() { return {reinterpret_cast<std::byte*>(floats().data()), kBytes}; }

  absl::Status Write(const std::vector<float>& values) {
    return Copy(floats().data(), values.data());
  }
  absl::StatusOr<std::vector<float>> Read() {
    std::vector<float> values(kFloats);
    absl::Status status = Copy(values.data(), floats().data());
    if (!status.ok()) return status;
    return values;
  }

 private:
  absl::Status Copy(float* to, const float* from) {
    if (memory_ == nullptr) {
      std::copy_n(from, kFloats, to);
      return absl::OkStatus();
    }
    absl::Status status = device_.Copy(to, from, kBytes, device_.ComputeStream());
    if (!status.ok()) return status;
    const auto done = device_.Record(device_.ComputeStream());
    if (!done.ok()) return done.status();
    while (!(*done)->Reached().value_or(true)) std::this_thread::yield();
    return (*done)->Reached().status();
  }

  device::Device& device_;
  std::vector<float> main_;
  std::unique_ptr<device::Memory> memory_;
};

class Exchanges {
 public:
  Exchanges(device::Device& device, ddp::Transport& transport, bool on_device)
      : transport_(transport), from_(device, on_device), to_(device, on_device) {
    for (size_t i = 0; i < kFloats; ++i) values_.push_back(static_cast<float>(i) * 0.37F - 1000);
  }

  // In a world of one each leaves what was given.
  absl::Status All(uint64_t* count) {
    const auto leaves = [&](const char* name, Buffer& result, const absl::Status& done) {
      ++*count;
      return Check(name, result, done);
    };
    absl::Status status = from_.Write(values_);
    status.Update(to_.Write(std::vector<float>(kFloats, -1)));
    status.Update(
        leaves("all-to-all", to_, transport_.StartAllToAll(from_.bytes(), to_.bytes())->Wait()));
    status.Update(leaves("all-gather", from_, transport_.AllGather(from_.bytes())));
    status.Update(leaves("broadcast", from_, transport_.Broadcast(from_.bytes(), Rank(0))));
    status.Update(
        leaves("all-reduce", from_, transport_.StartAllReduceSum(from_.floats())->Wait()));
    status.Update(leaves("barrier", from_, transport_.Barrier()));
    return status;
  }

 private:
  absl::Status Check(const char* name, Buffer& result, const absl::Status& done) {
    if (!done.ok()) return {done.code(), absl::StrCat(name, ": ", done.message())};
    const auto values = result.Read();
    if (!values.ok()) return values.status();
    return *values == values_ ? absl::OkStatus()
                              : absl::InternalError(absl::StrCat(name, " left other bytes"));
  }

  ddp::Transport& transport_;
  Buffer from_, to_;
  std::vector<float> values_;
};

absl::StatusOr<std::unique_ptr<device::Device>> Open(const std::string& kind) {
  if (kind == "cpu") {
    device::HostDevice::Options options;
    options.collectives = STAND_IN_NCCL;
    return std::make_unique<device::HostDevice>(options);
  }
  const auto library = device::LoadDeviceLibrary(kind);
  if (!library.ok()) return library.status();
  return (*library)->Open(0);
}

absl::StatusOr<nlohmann::json> Check(const std::string& kind) {
  const auto device = Open(kind);
  if (!device.ok()) return device.status();
  const auto library = nccl::NcclLibrary::Load((*device)->collectives());
  if (!library.ok()) return library.status();
  const auto id = (*library)->MintUniqueId();
  if (!id.ok()) return id.status();
  const ddp::Membership alone = {JobId("check"), AttemptNumber(1), Rank(0), 1};
  auto transport = nccl::ConnectNccl(**library, **device, alone, *id, {});
  if (!transport.ok()) return transport.status();
  uint64_t exchanges = 0;
  for (const bool on_device : {false, true}) {
    absl::Status status = Exchanges(**device, **transport, on_device).All(&exchanges);
    if (!status.ok()) return status;
  }
  return nlohmann::json{{"device", (*device)->Fingerprint()},
                        {"library", kind == "cpu" ? "a stand-in for NCCL" : (*library)->Version()},
                        {"exchanges", exchanges}};
}

// Before anything is opened, since NCCL prints to standard output too.
absl::Status CheckAndAnswer(const std::string& kind) {
  const auto output = AnswerOutput::Take();
  if (!output.ok()) return output.status();
  const auto report = Check(kind);
  return report.ok() ? output->Say(report->dump()) : report.status();
}

}  // namespace
}  // namespace tandem

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: tandem-exchange-check KIND" << std::endl;
    return 2;
  }
  const absl::Status status = tandem::CheckAndAnswer(argv[1]);
  if (status.ok()) return 0;
  std::cerr << "tandem-exchange-check: " << status.message() << std::endl;
  return 1;
}
