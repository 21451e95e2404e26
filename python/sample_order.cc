// Prints which samples the trainer takes, for the test of tandem_report.py. Reads lines
//   SAMPLES SEED EPOCH GLOBAL_BATCH LOGICAL_RANKS WORLD_SIZE DROP_LAST SHUFFLE
// and writes for each a line of JSON: of each rank, of each step, of each of its logical ranks, the samples.
#include <cstdint>
#include <iostream>
#include <vector>

#include "common/logical_ranks.h"
#include "nlohmann/json.hpp"
#include "worker/data/sampler.h"

namespace tandem::data {
namespace {

using Share = std::vector<int64_t>;

struct Case {
  int64_t samples = 0;
  uint64_t epoch = 0;
  uint32_t world_size = 0;
  v1::JobSpec spec;
};

std::istream& operator>>(std::istream& in, Case& read) {
  uint64_t seed = 0;
  uint32_t batch = 0, logical_ranks = 0;
  bool drop_last = false, shuffle = false;
  in >> read.samples >> seed >> read.epoch >> batch >> logical_ranks >> read.world_size >>
      drop_last >> shuffle;
  read.spec.set_seed(seed);
  read.spec.set_global_batch_size(batch);
  read.spec.set_logical_ranks(logical_ranks);
  read.spec.set_epochs(1);
  read.spec.mutable_data()->set_drop_last(drop_last);
  read.spec.mutable_data()->set_shuffle(shuffle);
  return in;
}

std::vector<Share> SharesOf(const Sampler& sampler, const std::vector<int64_t>& order,
                            uint64_t batch, LogicalRange range) {
  std::vector<Share> shares;
  for (uint32_t l = range.begin; l < range.end; ++l) {
    const Range places = sampler.Share(batch, LogicalRank(l));
    shares.emplace_back(order.begin() + places.begin, order.begin() + places.end);
  }
  return shares;
}

nlohmann::json OrderOf(const Case& asked) {
  const Sampler sampler = *Sampler::Create(asked.spec, asked.samples);
  const std::vector<int64_t> order = sampler.Order(asked.epoch);
  std::vector<std::vector<std::vector<Share>>> ranks(asked.world_size);
  for (uint32_t rank = 0; rank < asked.world_size; ++rank) {
    const LogicalRange range =
        LogicalRangeOf(Rank(rank), asked.world_size, asked.spec.logical_ranks());
    for (uint64_t batch = 0; batch < sampler.batches_per_epoch(); ++batch) {
      ranks[rank].push_back(SharesOf(sampler, order, batch, range));
    }
  }
  return ranks;
}

}  // namespace
}  // namespace tandem::data

int main() {
  for (tandem::data::Case asked; std::cin >> asked;) {
    std::cout << tandem::data::OrderOf(asked) << '\n';
  }
}
