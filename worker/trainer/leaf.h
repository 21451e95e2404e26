#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "worker/ddp/leaf_tallies.h"
#include "worker/model/loss.h"
#include "worker/trainer/batch_pass.h"

namespace tandem::trainer {

// What both kinds of pass do with a logical rank. `step`: steps done.

// What the generator is seeded with for a forward pass. `segment`: of a network that is cut at its
// normalizations.
uint64_t ForwardSeedOf(const PassParts& parts, uint64_t step, LogicalRank logical_rank,
                       uint64_t segment = 0);

// Whose running statistics a step keeps: the first logical rank that has samples.
LogicalRank KeeperOfBuffers(const PassParts& parts, uint64_t step);

// Of a share and what the model said about it. A share in which every target was masked out has no
// gradient, like an empty one, but its samples were seen. (Where batch normalization is synchronized
// it still has the one that its values get through the statistics.)
std::optional<ddp::Tally> TallyOf(const std::optional<data::LoadedShare>& share,
                                  const std::optional<model::Outcome>& outcome);

// Starts the exchange of a step's tallies, which carries the wish to pause as well.
void StartStepTallies(const PassParts& parts, uint64_t step,
                      std::vector<std::optional<ddp::Tally>> tallies);

}  // namespace tandem::trainer
