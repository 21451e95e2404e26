#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/ids.h"
#include "worker/ddp/transport.h"

namespace tandem::trainer {

// How the two ranks of the self-test are connected: the real way of their devices.
class SelfTestLink {
 public:
  virtual ~SelfTestLink() = default;
  virtual ddp::Transport& transport() = 0;
  // As LibTorch names it.
  virtual std::string device() const = 0;
};

// Collective. `devices`: "cpu". Rank 0 tells `announce` where the other rank finds it, in one word; that rank gets the word as
// `meeting`.
//   InvalidArgument  there are no such devices.
//   others           as Rendezvous and Transport.
absl::StatusOr<std::unique_ptr<SelfTestLink>> ConnectSelfTest(
    const std::string& devices, Rank rank, const std::string& meeting,
    const std::function<void(const std::string&)>& announce);

}  // namespace tandem::trainer
