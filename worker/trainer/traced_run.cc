#include "worker/trainer/traced_run.h"

#include "common/spec/spec.h"
#include "common/temporary_folder.h"
#include "gtest/gtest.h"
#include "worker/trainer/test_trace.h"

namespace tandem::trainer {
namespace {

std::string DigestsOf(const v1::StepTrace& step) {
  v1::StepTrace digests;
  *digests.mutable_tensors() = step.tensors();
  return digests.SerializeAsString();
}

}  // namespace

TracedRun TrainTraced(v1::JobSpec spec, uint32_t world_size, const std::string& binary,
                      const AttemptOptions& attempt) {
  const TemporaryFolder folder = *TemporaryFolder::Create("tandem-traced");
  spec.mutable_trace()->set_dir(folder.path());
  spec.set_verify_every(5);
  spec::FillDefaults(&spec);
  const std::vector<RankRecord> records = RunJob(binary, spec, world_size, attempt);
  TracedRun run;
  run.samples = records[0].samples;
  run.digest = records[0].digest;
  for (uint32_t rank = 0; rank < world_size; ++rank) {
    EXPECT_FALSE(records[rank].failure) << records[rank].failure->message();
    run.ranks.push_back(ReadTrace(folder.path(), rank).steps);
    EXPECT_EQ(run.ranks.back().size(), records[rank].total_steps - records[rank].steps_done);
    std::vector<std::string> tensors;
    for (const v1::StepTrace& step : run.ranks.back()) tensors.push_back(DigestsOf(step));
    if (rank == 0) run.tensors = tensors;
    EXPECT_EQ(tensors, run.tensors) << "rank " << rank << " is not as rank 0";
  }
  return run;
}

void ExpectSameBits(const TracedRun& a, const TracedRun& b) {
  EXPECT_EQ(a.tensors, b.tensors);
  EXPECT_EQ(a.samples, b.samples);
  EXPECT_EQ(a.digest, b.digest);
}

std::vector<int64_t> SamplesOf(const TracedRun& run, uint64_t step) {
  std::vector<int64_t> samples;
  for (const auto& rank : run.ranks) {
    for (const v1::LeafTrace& leaf : rank.at(step - 1).leaves()) {
      samples.insert(samples.end(), leaf.samples().begin(), leaf.samples().end());
    }
  }
  return samples;
}

}  // namespace tandem::trainer
