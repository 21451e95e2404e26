#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "tandem/v1/doctor.pb.h"
#include "worker/ddp/reduction.h"
#include "worker/ddp/transport.h"

namespace tandem::trainer {

// One of the two ranks of the self-test: hard gradients of 2 and of 8 logical ranks through a GradientReducer over
// `transport`, gathered and in shards, compared bit for bit with sums made here. `device`: as LibTorch names it, "cpu". Every
// case has `reduction`; with any but kTree bits differ, as they must.
//   Any code of the transport.
absl::StatusOr<v1::SelfTestReport> RunSelfTestRank(
    ddp::Transport& transport, const std::string& device,
    ddp::Reduction reduction = ddp::Reduction::kTree);

}  // namespace tandem::trainer
