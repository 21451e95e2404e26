#include "worker/trainer/self_test_link.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace tandem::trainer {
namespace {

constexpr char kAddress[] = "127.0.0.1";
constexpr uint32_t kRanks = 2;

// What an agent and the coordinator hand from rank to rank.
absl::StatusOr<v1::Start> StartFrom(const std::string& meeting) {
  v1::Prepared first;
  if (meeting.empty() || !first.ParseFromString(absl::HexStringToBytes(meeting))) {
    return absl::InvalidArgumentError("rank 0 said something else than where it is");
  }
  v1::Start start;
  start.set_master_address(kAddress);
  start.set_master_port(first.master_port());
  start.set_nccl_unique_id(first.nccl_unique_id());
  return start;
}

}  // namespace

SelfTestLink::SelfTestLink(RankDevice device, Rank rank)
    : device_(std::move(device)),
      meeting_({JobId("self-test"), AttemptNumber(1), rank, kRanks}, kAddress, device_.get()) {}

absl::StatusOr<std::unique_ptr<SelfTestLink>> SelfTestLink::Connect(
    const std::string& slot, Rank rank, const std::string& meeting,
    const std::function<void(const std::string&)>& announce) {
  auto device = RankDevice::Open(slot);
  if (!device.ok()) return device.status();
  std::unique_ptr<SelfTestLink> link(new SelfTestLink(*std::move(device), rank));
  v1::Prepared prepared;
  if (absl::Status status = link->meeting_.Prepare(&prepared); !status.ok()) return status;
  const std::string own = absl::BytesToHexString(prepared.SerializeAsString());
  if (rank == Rank(0)) announce(own);
  const auto start = StartFrom(rank == Rank(0) ? own : meeting);
  if (!start.ok()) return start.status();
  auto transport = link->meeting_.Meet(*start);
  if (!transport.ok()) return transport.status();
  link->transport_ = *std::move(transport);
  return link;
}

}  // namespace tandem::trainer
