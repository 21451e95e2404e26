#pragma once

#include "absl/status/statusor.h"
#include "tandem/v1/doctor.pb.h"
#include "worker/ddp/reduction.h"
#include "worker/ddp/transport.h"
#include "worker/device/device.h"

namespace tandem::trainer {

// One of the two ranks of the self-test: hard gradients of 2 and of 8 logical ranks through a
// GradientReducer over `transport`, gathered and in shards, compared bit for bit with sums made here.
// `device`: where the gradients are; null: the CPU. With another `reduction` than the tree bits differ,
// as they must.
//   Any code of GradientReducer.
absl::StatusOr<v1::SelfTestReport> RunSelfTestRank(
    ddp::Transport& transport, device::Device* device,
    ddp::Reduction reduction = ddp::Reduction::kTree);

}  // namespace tandem::trainer
