// `tandem verify`: trains one job, or runs one program, on several numbers of workers and says whether that is one
// result.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "client/commands.h"
#include "client/job_options.h"
#include "client/local_cluster.h"
#include "client/local_slots.h"
#include "client/verify/difference.h"
#include "client/verify/judge.h"
#include "client/verify/plan.h"
#include "client/verify/report_html.h"
#include "client/verify/report_text.h"
#include "client/verify/words.h"
#include "client/verify_runs.h"
#include "common/slot_request.h"
#include "common/temporary_folder.h"

namespace tandem::client {
namespace {

constexpr uint64_t kUsualSteps = 20;

struct VerifyOptions {
  JobOptions job;
  std::vector<uint32_t> workers;
  std::optional<uint64_t> steps;
  double tolerance = verify::JudgeOptions().tolerance;
  std::string html_file;
};

// The runs of one verification, on a cluster of its own.
class Experiment {
 public:
  Experiment(Context* context, v1::JobSpec controlled, std::vector<uint32_t> sizes)
      : context_(*context), controlled_(std::move(controlled)), sizes_(std::move(sizes)) {}

  // Errors as for LocalCluster and TrainObserved.
  absl::StatusOr<v1::Verification> Execute(double tolerance) {
    absl::Status status = Start();
    if (status.ok()) status = TrainAll();
    if (!status.ok()) return status;
    const bool reported = controlled_.has_command();
    if (reported) level_ = v1::EQUIVALENCE_LEVEL_SEMANTIC;
    v1::Verification found = verify::Judge(evidence_, {level_, tolerance, reported});
    found.set_name(controlled_.name());
    found.set_steps(reported ? evidence_.runs.front().samples.size() : controlled_.steps());
    found.set_logical_ranks(controlled_.logical_ranks());
    found.set_seed(controlled_.seed());
    // What does not repeat itself would have other values by then.
    const bool repeats = found.runs(1).verdict() == v1::VERDICT_BIT_EQUAL;
    if (repeats && HasTwoValues(found.difference())) {
      LookAtValues(found.mutable_difference());
    }
    return found;
  }

 private:
  absl::Status CheckFits(uint32_t most) const {
    const auto found = FindLocalSlots(*cluster_, controlled_, interrupts_);
    if (!found.ok()) return found.status();
    if (most <= found->count) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("workers: ", most, " do not fit on the ",
                                                   found->count, " ", found->kind,
                                                   " slots of this machine"));
  }

  absl::Status Start() {
    auto folder = TemporaryFolder::Create("tandem-verify");
    if (!folder.ok()) return folder.status();
    folder_ = std::make_unique<TemporaryFolder>(*std::move(folder));
    const uint32_t most = *std::max_element(sizes_.begin(), sizes_.end());
    const bool on_cpu = !controlled_.has_device() || controlled_.device() == kCpuKind;
    const LocalSlots slots =
        on_cpu ? LocalSlots::OnCpu(most) : LocalSlots::AllOf(controlled_.device());
    auto cluster =
        LocalCluster::Start({LocalCluster::FolderOfThisProgram(), slots.text}, &interrupts_);
    if (!cluster.ok()) return cluster.status();
    cluster_ = *std::move(cluster);
    if (on_cpu) return Open();
    const absl::Status fits = CheckFits(most);
    return fits.ok() ? Open() : fits;
  }

  absl::Status Open() {
    Connection::Options options;
    options.address = cluster_->address();
    auto connection = Connection::Open(options);
    if (!connection.ok()) return connection.status();
    connection_ = *std::move(connection);
    return absl::OkStatus();
  }

  // The first size twice, to see whether it repeats itself.
  absl::Status TrainAll() {
    std::vector<uint32_t> sizes = sizes_;
    sizes.insert(sizes.begin(), sizes.front());
    for (uint32_t size : sizes) {
      auto run = Train(NextSpec(size));
      if (!run.ok()) return run.status();
      evidence_.runs.push_back(*std::move(run));
    }
    return absl::OkStatus();
  }

  // The verdict stands with these or without.
  void LookAtValues(v1::Difference* difference) {
    progress_.Remark(absl::StrCat("once more, for the values of ", difference->tensor()));
    const auto value = ValueOf(*difference);
    if (value.ok()) {
      *difference->mutable_value() = *value;
    } else {
      progress_.Remark(
          absl::StrCat(difference->tensor(), " without its values: ", value.status().message()));
    }
  }

  // Both runs once more, telling them to write down the first tensor that differs.
  absl::StatusOr<v1::DifferingValue> ValueOf(const v1::Difference& difference) {
    std::vector<verify::Run> runs;
    for (uint32_t size : {difference.first_world_size(), difference.other_world_size()}) {
      v1::JobSpec spec = NextSpec(size);
      spec.mutable_trace()->set_tensor(difference.tensor());
      spec.mutable_trace()->set_tensor_step(difference.tensor_step());
      auto run = Train(spec);
      if (!run.ok()) return run.status();
      runs.push_back(*std::move(run));
    }
    const auto value = verify::FirstDifferingValue(difference, runs[0], runs[1]);
    if (!value) return absl::NotFoundError("the traces have none that can be compared");
    return *value;
  }

  v1::JobSpec NextSpec(uint32_t workers) {
    return verify::RunSpec(controlled_, workers, folder_->File(absl::StrCat("run-", ++runs_)));
  }

  absl::StatusOr<verify::Run> Train(const v1::JobSpec& spec) {
    const absl::Time before = absl::Now();
    auto training = TrainObserved(spec, {connection_.get(), &interrupts_, &progress_});
    const absl::Status broken = cluster_->Failure();
    if (!broken.ok()) return broken;
    if (!training.ok()) return training.status();
    // A job that ended before its first step has none.
    if (training->job.has_receipt()) level_ = training->job.receipt().level();
    progress_.Remark(absl::StrCat(verify::NameOf(training->run), ": ", Outcome(training->job), ", ",
                                  DurationText(absl::Now() - before)));
    return std::move(training->run);
  }

  static bool HasTwoValues(const v1::Difference& difference) {
    return !difference.tensor().empty() && difference.tensor_missing_in() == 0;
  }

  static std::string Outcome(const v1::Job& job) {
    if (job.has_cause()) return job.cause().message();
    return absl::StrCat(verify::Counted(job.step(), "step"), ", loss ",
                        verify::NumberText(job.loss()));
  }

  Context& context_;
  const v1::JobSpec controlled_;
  const std::vector<uint32_t> sizes_;
  Interrupts interrupts_;
  const SignalForwarder forwarder_{&interrupts_};
  const SystemClock clock_;
  Progress progress_{&context_.console, &clock_};
  std::unique_ptr<TemporaryFolder> folder_;
  std::unique_ptr<LocalCluster> cluster_;
  std::unique_ptr<Connection> connection_;
  verify::Evidence evidence_;
  v1::EquivalenceLevel level_ = v1::EQUIVALENCE_LEVEL_UNSPECIFIED;
  // How many there were.
  int runs_ = 0;
};

absl::Status WritePage(const std::string& path, const v1::Verification& verification) {
  std::ofstream file(path, std::ios::binary);
  file << verify::FormatPage(verification);
  file.close();
  return file ? absl::OkStatus()
              : absl::InvalidArgumentError(absl::StrCat("--html ", path, " cannot be written"));
}

absl::StatusOr<ExitCode> Report(Context* context, const std::string& html_file,
                                const v1::Verification& found) {
  context->Answer(
      found, [&] { return verify::FormatVerification(found, context->console.color_output()); });
  const absl::Status written = html_file.empty() ? absl::OkStatus() : WritePage(html_file, found);
  if (!written.ok()) return written;
  return found.passed() ? ExitCode::kSuccess : ExitCode::kJobFailed;
}

// Before anything is trained.
absl::Status CheckOptions(const VerifyOptions& options) {
  if (std::isnan(options.tolerance)) {
    return absl::InvalidArgumentError("--tolerance: nan is not a number");
  }
  if (options.html_file.empty() || std::ofstream(options.html_file, std::ios::app)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--html ", options.html_file, " cannot be written"));
}

absl::StatusOr<ExitCode> Verify(Context* context, const VerifyOptions& options) {
  if (absl::Status status = CheckOptions(options); !status.ok()) return status;
  const auto job = options.job.Load(context->program, SurroundingsOfThisProcess());
  if (!job.ok()) return job.status();
  if (job->spec.has_command() && options.steps) {
    context->console.Remark("note: --steps has no effect: a program runs to its own end");
  }
  const std::vector<uint32_t> sizes = verify::WorldSizes(job->spec, options.workers);
  const auto controlled =
      verify::ControlledSpec(job->spec, sizes, options.steps.value_or(kUsualSteps));
  if (!controlled.ok()) return controlled.status();
  const auto found = Experiment(context, *controlled, sizes).Execute(options.tolerance);
  if (absl::IsAborted(found.status())) {
    context->console.Remark(absl::StrCat("tandem: ", found.status().message()));
    return ExitCode::kJobFailed;
  }
  if (!found.ok()) return found.status();
  return Report(context, options.html_file, *found);
}

}  // namespace

void AddVerifyCommand(CLI::App* app, Context* context) {
  auto options = std::make_shared<VerifyOptions>();
  CLI::App* command =
      app->add_subcommand("verify", "Compare a job's bits on several numbers of workers");
  options->job.AddWithoutWorkersTo(command);
  constexpr uint32_t kMostWorkers = 1024;
  command
      ->add_option("--workers", options->workers,
                   "World sizes to try, as in 1,2,4; the first one is run twice. Left out: 1, 2 "
                   "and the file's")
      ->type_name("W,...")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(1u, kMostWorkers));
  command->add_option("--steps", options->steps, "Train for so many steps each time")
      ->check(CLI::PositiveNumber)
      ->default_str(absl::StrCat(kUsualSteps));
  command
      ->add_option("--tolerance", options->tolerance,
                   "Of a program, or a job with reduction: allreduce, how much a loss may differ, "
                   "relative to it")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_option("--html", options->html_file, "Also write a page with the curves here")
      ->type_name("FILE");
  command->callback([=] { context->command = [=] { return Verify(context, *options); }; });
}

}  // namespace tandem::client
