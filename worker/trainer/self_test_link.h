#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "worker/ddp/transport.h"
#include "worker/trainer/meeting.h"
#include "worker/trainer/rank_device.h"

namespace tandem::trainer {

// How the two ranks of the self-test are connected: as ranks that train on such slots are.
class SelfTestLink {
 public:
  // Collective. Rank 0 tells `announce` where the other one finds it, in one word, which that rank gets
  // as `meeting`. Whoever has the word can join.
  //   InvalidArgument  `meeting` is no such word.
  //   others           as RankDevice::Open and Meeting.
  static absl::StatusOr<std::unique_ptr<SelfTestLink>> Connect(
      const std::string& slot, Rank rank, const std::string& meeting,
      const std::function<void(const std::string&)>& announce);

  ddp::Transport& transport() { return *transport_; }
  // Null: the CPU.
  device::Device* device() const { return device_.get(); }

 private:
  SelfTestLink(RankDevice device, Rank rank);

  RankDevice device_;
  Meeting meeting_;
  std::unique_ptr<ddp::Transport> transport_;
};

}  // namespace tandem::trainer
