#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "tandem/v1/trainer.pb.h"
#include "worker/process/event_loop.h"

namespace tandem::command {

// Tells the agent about every step, several to a message: the first at once, so that the time to the first
// step is true, then at most one message in kInterval. Loop only.
class ProgressSender {
 public:
  using Send = std::function<void(const v1::RankProgress&)>;
  static constexpr absl::Duration kInterval = absl::Milliseconds(200);

  ProgressSender(EventLoop* loop, Send send) : loop_(*loop), send_(std::move(send)) {}

  void Add(const std::vector<v1::StepSample>& samples);
  // Sends what waits.
  void Flush();

 private:
  EventLoop& loop_;
  const Send send_;
  v1::RankProgress unsent_;
  // Runs for kInterval after each message.
  EventLoop::Registration pause_;
};

}  // namespace tandem::command
