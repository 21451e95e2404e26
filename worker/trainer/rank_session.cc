#include "worker/trainer/rank_session.h"

#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ATen/Context.h"
#include "ATen/Parallel.h"
#include "absl/strings/str_cat.h"
#include "worker/ddp/parameter_digest.h"
#include "worker/ddp/torch_status.h"
#include "worker/trainer/agent_link.h"
#include "worker/trainer/environment.h"
#include "worker/trainer/meeting.h"
#include "worker/trainer/mistakes.h"
#include "worker/trainer/rank_device.h"
#include "worker/trainer/resume.h"
#include "worker/trainer/training_run.h"
#include "worker/trainer/workload.h"

namespace tandem::trainer {
namespace {

void ConfigureKernels(const v1::JobSpec& spec) {
  at::set_num_threads(static_cast<int>(spec.threads_per_rank()));
  at::set_num_interop_threads(1);
  at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/false);
}

v1::CauseCode CauseOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kDataLoss:  // a damaged file
    case absl::StatusCode::
        kOutOfRange:  // a number that is not finite: the same bits again next time
      return v1::CAUSE_CODE_BAD_INPUT;
    case absl::StatusCode::kAlreadyExists:
      return v1::CAUSE_CODE_FENCED;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kCancelled:
      return v1::CAUSE_CODE_PEER_LOST;
    case absl::StatusCode::kAborted:
      return v1::CAUSE_CODE_DIGEST_MISMATCH;
    default:
      return v1::CAUSE_CODE_RANK_ERROR;
  }
}

// Runs `work` and makes a status out of what LibTorch throws.
template <typename Work>
absl::Status CatchExceptions(const Work& work) {
  try {
    return work();
  } catch (const std::exception& error) {
    return ddp::StatusFromException(error, "LibTorch");
  }
}

class RankSession {
 public:
  RankSession(AgentLink& agent, ProgressPage& page, const Hooks& hooks)
      : agent_(agent), position_(page, hooks), hooks_(hooks) {}

  absl::Status Run() {
    if (absl::Status status = Prepare(); !status.ok()) return status;
    if (absl::Status status = Meet(); !status.ok()) return status;
    const absl::StatusOr<TrainingEnd> end = Train({.assignment = assignment_,
                                                   .device = device_->get(),
                                                   .workload = *workload_,
                                                   .update = *update_,
                                                   .state = state_,
                                                   .mistakes = *mistakes_,
                                                   .hooks = hooks_,
                                                   .position = position_,
                                                   .writer = writer_ ? &*writer_ : nullptr,
                                                   .agent = agent_},
                                                  *transport_);
    if (!end.ok()) return end.status();
    return *end == TrainingEnd::kPaused ? SayPaused() : Finish();
  }

 private:
  absl::Status Prepare() {
    position_.Enter(0, v1::PHASE_PREPARE);
    absl::StatusOr<v1::Prepare> assignment = agent_.AwaitPrepare();
    if (!assignment.ok()) return assignment.status();
    assignment_ = *std::move(assignment);
    mistakes_.emplace(assignment_.spec().unsafe(), assignment_.job_id(), Rank(assignment_.rank()),
                      assignment_.world_size());
    ConfigureKernels(mistakes_->InJob(assignment_.spec()));
    if (absl::Status status = OpenDevice(); !status.ok()) return status;
    if (absl::Status status = RaiseFence(); !status.ok()) return status;
    if (absl::Status status = LoadTraining(); !status.ok()) return status;
    PrintEnvironment(assignment_, *workload_, *device_, std::cout);
    meeting_.emplace(Self(), assignment_.advertise_address(), device_->get());
    return SendPrepared();
  }

  absl::Status OpenDevice() {
    absl::StatusOr<RankDevice> device = RankDevice::Open(assignment_.slot());
    if (!device.ok()) return device.status();
    device_.emplace(*std::move(device));
    return absl::OkStatus();
  }

  absl::Status LoadTraining() {
    absl::StatusOr<Workload> workload = LoadWorkload(assignment_.spec(), *mistakes_, *device_);
    if (!workload.ok()) return workload.status();
    workload_ = std::make_unique<Workload>(*std::move(workload));
    update_.emplace(*workload_, *mistakes_, workload_->spec.has_trace());
    absl::StatusOr<checkpoint::TrainingState> state =
        BeginningOf(*workload_, *update_, fence_ ? OwnFolder() : "");
    if (!state.ok()) return state.status();
    state_ = *std::move(state);
    return MakeWriter();
  }

  absl::Status MakeWriter() {
    const v1::JobSpec& spec = workload_->spec;
    if (!spec.has_checkpoint() || !IsFirst()) return absl::OkStatus();
    writer_.emplace(
        checkpoint::CheckpointWriter::Options{.folder = OwnFolder(),
                                              .every_steps = spec.checkpoint().every_steps(),
                                              .total_steps = workload_->sampler.total_steps(),
                                              .keep = spec.checkpoint().keep(),
                                              .identity = IdentityOf(*workload_)},
        *fence_, *hooks_.files);
    const absl::Status probed = writer_->Probe();
    return probed.ok() ? probed : FolderCannotBeUsed(probed);
  }

  std::string OwnFolder() const {
    return checkpoint::FolderOfJob(assignment_.spec().checkpoint(), assignment_.job_id());
  }

  // At the first attempt, a mistake of the job's author; later, an accident that may heal.
  absl::Status FolderCannotBeUsed(const absl::Status& why) const {
    const auto code = assignment_.attempt() == 1 ? absl::StatusCode::kInvalidArgument
                                                 : absl::StatusCode::kInternal;
    return absl::Status(code, why.message());
  }

  // From here on ranks of older attempts cannot save any more: what is found in the folder stays the newest.
  absl::Status RaiseFence() {
    if (!assignment_.spec().has_checkpoint()) return absl::OkStatus();
    fence_.emplace(OwnFolder(), assignment_.attempt());
    absl::Status raised = fence_->Raise();
    if (raised.ok() || absl::IsAlreadyExists(raised)) return raised;
    // Only rank 0 has to be able to write there.
    if (!IsFirst()) return absl::OkStatus();
    return FolderCannotBeUsed(
        absl::Status(raised.code(), absl::StrCat("checkpoint.dir: ", raised.message())));
  }

  absl::Status SendPrepared() {
    v1::TrainerToAgent message;
    v1::Prepared& prepared = *message.mutable_prepared();
    prepared.set_total_steps(workload_->sampler.total_steps());
    prepared.set_steps_done(state_.step);
    prepared.set_receipt(state_.receipt);
    if (absl::Status status = meeting_->Prepare(&prepared); !status.ok()) return status;
    return agent_.Send(message);
  }

  absl::Status Meet() {
    const absl::StatusOr<v1::Start> start = agent_.AwaitStart();
    if (!start.ok()) return start.status();
    if (start->job_id() != assignment_.job_id() || start->attempt() != assignment_.attempt()) {
      return absl::FailedPreconditionError("Start is for another attempt than Prepare was");
    }
    position_.Enter(state_.step, v1::PHASE_REDUCE);
    auto transport = meeting_->Meet(*start);
    if (!transport.ok()) return transport.status();
    transport_ = *std::move(transport);
    return absl::OkStatus();
  }

  absl::Status SayPaused() {
    position_.Enter(state_.step, v1::PHASE_DONE);
    v1::TrainerToAgent message;
    message.mutable_paused()->set_step(state_.step);
    return agent_.Send(message);
  }

  absl::Status Finish() {
    position_.Enter(state_.step, v1::PHASE_DONE);
    v1::TrainerToAgent message;
    // Buffers that are meant to differ between ranks are left out of what ranks must agree on.
    message.mutable_finished()->set_parameter_digest(mistakes_->BuffersStayOnRank()
                                                         ? ddp::ParameterDigest(state_.parameters)
                                                         : DigestOf(*workload_->model));
    return agent_.Send(message);
  }

  bool IsFirst() const { return assignment_.rank() == 0; }

  ddp::Membership Self() const {
    return {JobId(assignment_.job_id()), AttemptNumber(assignment_.attempt()),
            Rank(assignment_.rank()), assignment_.world_size()};
  }

  AgentLink& agent_;
  PositionReporter position_;
  const Hooks& hooks_;

  // Each is there once its step of Run is done.
  v1::Prepare assignment_;
  std::optional<Mistakes> mistakes_;
  std::optional<RankDevice> device_;
  std::unique_ptr<Workload> workload_;
  std::optional<ParameterUpdate> update_;
  checkpoint::TrainingState state_;
  std::optional<checkpoint::AttemptFence> fence_;  // of the job's checkpoints, if it has any
  std::optional<checkpoint::CheckpointWriter> writer_;
  std::optional<Meeting> meeting_;
  std::unique_ptr<ddp::Transport> transport_;
};

void ReportFailure(AgentLink& agent, const absl::Status& status) {
  std::cerr << "tandem-trainer: " << status.message() << std::endl;
  v1::TrainerToAgent message;
  message.mutable_failure()->set_code(CauseOf(status));
  message.mutable_failure()->set_message(std::string(status.message()));
  // Where nobody hears it, nobody needs it.
  agent.Send(message).IgnoreError();
}

}  // namespace

int RunRank(FileDescriptor agent_socket, ProgressPage page, const Hooks& hooks) {
  AgentLink agent(std::move(agent_socket));
  RankSession session(agent, page, hooks);
  const absl::Status status = CatchExceptions([&session] { return session.Run(); });
  if (!status.ok()) ReportFailure(agent, status);
  return status.ok() ? 0 : 1;
}

}  // namespace tandem::trainer
