// Speaks a trainer's protocol without training: reports and writes down the steps of a small job, and
// spoils them as the name of the job tells it to.
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/verify/sample_evidence.h"
#include "common/frame.h"
#include "common/message_channel.h"
#include "common/progress_page.h"
#include "tandem/v1/trainer.pb.h"

namespace tandem::client {
namespace {

void Spoil(const std::string& name, verify::Run* run) {
  if (name == "unseeded") verify::Derail(run, 3, 1 + 1e-3 * getpid());
  if (run->world_size == 1) return;
  if (name == "drifts") verify::EndInDisagreement(run, 3);
  if (name != "summed" && name != "refuses-values") return;
  for (verify::RankTrace& rank : run->ranks) rank.steps[0].set_gradient_norm(5);
  verify::Derail(run, 2, 1.5);
}

// What trace.tensor asks for: one number, which is 1 on one rank and 2 on two.
void AddValues(const v1::Trace& wanted, verify::Run* run) {
  if (wanted.tensor().empty() || wanted.tensor_step() == 0) return;
  const float value = static_cast<float>(run->world_size);
  for (verify::RankTrace& rank : run->ranks) {
    rank.steps[wanted.tensor_step() - 1].set_values(&value, sizeof(value));
  }
}

bool WriteTrace(const verify::RankTrace& trace, const std::string& folder) {
  std::string bytes;
  (void)AppendFrame(trace.header, &bytes);
  for (const v1::StepTrace& step : trace.steps) (void)AppendFrame(step, &bytes);
  std::ofstream file(absl::StrCat(folder, "/rank-", trace.header.rank(), ".trace"),
                     std::ios::binary);
  file << bytes;
  return file.good();
}

void Report(const verify::Run& run, MessageChannel* channel) {
  v1::TrainerToAgent progress;
  for (const v1::StepSample& sample : run.samples) {
    *progress.mutable_progress()->add_samples() = sample;
  }
  (void)channel->Send(progress);
}

int Fail(v1::CauseCode code, const std::string& why, MessageChannel* channel) {
  v1::TrainerToAgent message;
  message.mutable_failure()->set_code(code);
  message.mutable_failure()->set_message(why);
  (void)channel->Send(message);
  return 1;
}

bool Refuses(const v1::JobSpec& spec) {
  return spec.name() == "refuses" ||
         (spec.name() == "refuses-values" && !spec.trace().tensor().empty());
}

int Train(const v1::Prepare& prepare, MessageChannel* channel, ProgressPage* page) {
  if (Refuses(prepare.spec())) {
    return Fail(v1::CAUSE_CODE_BAD_INPUT, "line 3 has 4 columns", channel);
  }
  verify::Run run = verify::GoodRun(prepare.world_size());
  Spoil(prepare.spec().name(), &run);
  AddValues(prepare.spec().trace(), &run);
  // Before another rank may fail, which ends this one.
  if (!WriteTrace(run.ranks[prepare.rank()], prepare.spec().trace().dir())) return 9;
  v1::TrainerToAgent message;
  message.mutable_prepared()->set_total_steps(verify::kSteps);
  if (prepare.rank() == 0) message.mutable_prepared()->set_master_port(4321);
  v1::AgentToTrainer start;
  if (!channel->Send(message).ok() || !channel->Receive(&start).ok()) return 9;
  if (prepare.rank() == 0) Report(run, channel);
  if (run.ranks_disagree) return Fail(v1::CAUSE_CODE_DIGEST_MISMATCH, run.cause, channel);
  page->Set({.step = verify::kSteps, .phase = v1::PHASE_DONE});
  message.mutable_finished()->set_parameter_digest(run.samples.back().parameter_digest());
  (void)channel->Send(message);
  return 0;
}

int Main(int argc, char** argv) {
  if (argc != 5) return 9;
  auto page = ProgressPage::Open(FileDescriptor(std::atoi(argv[4])));
  if (!page.ok()) return 9;
  MessageChannel channel{FileDescriptor(std::atoi(argv[2]))};
  v1::AgentToTrainer first;
  if (!channel.Receive(&first).ok() || !first.has_prepare()) return 9;
  return Train(first.prepare(), &channel, &*page);
}

}  // namespace
}  // namespace tandem::client

int main(int argc, char** argv) { return tandem::client::Main(argc, argv); }
