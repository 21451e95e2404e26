#include "worker/command/progress_sender.h"

namespace tandem::command {

void ProgressSender::Add(const std::vector<v1::StepSample>& samples) {
  for (const v1::StepSample& sample : samples) *unsent_.add_samples() = sample;
  if (!pause_.active()) Flush();
}

void ProgressSender::Flush() {
  pause_.Reset();
  if (unsent_.samples().empty()) return;
  send_(unsent_);
  unsent_.Clear();
  pause_ = loop_.After(kInterval, [this] { Flush(); });
}

}  // namespace tandem::command
