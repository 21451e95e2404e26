#include "server/fake_worker.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/version.h"

namespace tandem {
namespace {

// Fills in what every message about a rank begins with.
template <typename Message>
Message* About(const v1::PrepareRanks& attempt, uint32_t rank, Message* message) {
  message->set_job_id(attempt.job_id());
  message->set_attempt(attempt.attempt());
  message->set_rank(rank);
  return message;
}

}  // namespace

FakeWorker::FakeWorker(const std::shared_ptr<grpc::Channel>& channel, std::string name,
                       std::string incarnation)
    : name_(std::move(name)),
      incarnation_(std::move(incarnation)),
      stub_(v1::WorkerService::NewStub(channel)) {
  context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  stream_ = stub_->Connect(&context_);
}

FakeWorker::~FakeWorker() {
  context_.TryCancel();
  if (!finished_) stream_->Finish();
}

void FakeWorker::Register(int slots) { Write(Registration(slots)); }

void FakeWorker::RegisterAgain(int slots, const v1::PrepareRanks& attempt) {
  v1::WorkerToCoordinator message = Registration(slots);
  About(attempt, 0, message.mutable_register_()->add_running())->set_slot("cpu:0");
  Write(message);
}

v1::WorkerToCoordinator FakeWorker::Registration(int slots) const {
  v1::WorkerToCoordinator message;
  v1::Register& registration = *message.mutable_register_();
  registration.set_name(name_);
  registration.set_incarnation(incarnation_);
  registration.set_host("localhost");
  registration.set_advertise_address("127.0.0.1");
  registration.set_version(kVersion);
  registration.set_protocol_version(kProtocolVersion);
  registration.set_next_sequence(1);
  for (int i = 0; i < slots; ++i) registration.add_slots(absl::StrCat("cpu:", i));
  return message;
}

v1::CoordinatorToWorker FakeWorker::Read() {
  v1::CoordinatorToWorker message;
  while (stream_->Read(&message)) {
    if (!message.has_acknowledge()) return message;
  }
  return {};
}

void FakeWorker::Write(v1::WorkerToCoordinator message) {
  if (!message.has_register_() && !message.has_heartbeat()) message.set_sequence(++sequence_);
  stream_->Write(message);
}

grpc::Status FakeWorker::Finish() {
  stream_->WritesDone();
  while (Read().kind_case() != v1::CoordinatorToWorker::KIND_NOT_SET) {
  }
  finished_ = true;
  return stream_->Finish();
}

void FakeWorker::Prepared(const v1::PrepareRanks& attempt, uint32_t rank) {
  v1::WorkerToCoordinator message;
  v1::Prepared& prepared =
      *About(attempt, rank, message.mutable_rank_prepared())->mutable_prepared();
  if (rank == 0) prepared.set_master_port(12345);
  prepared.set_total_steps(attempt.spec().steps());
  Write(message);
}

void FakeWorker::Logged(const v1::PrepareRanks& attempt, uint32_t rank, const std::string& text) {
  v1::WorkerToCoordinator message;
  v1::RankLog& log = *message.mutable_rank_log();
  log.set_job_id(attempt.job_id());
  log.set_attempt(attempt.attempt());
  v1::LogLine& line = *log.add_lines();
  line.set_attempt(attempt.attempt());
  line.set_rank(rank);
  line.set_text(text);
  Write(message);
}

void FakeWorker::Progressed(const v1::PrepareRanks& attempt, uint64_t first, uint64_t last,
                            double loss) {
  v1::WorkerToCoordinator message;
  v1::RankProgress& progress =
      *About(attempt, 0, message.mutable_rank_report())->mutable_progress();
  for (uint64_t step = first; step <= last; ++step) {
    v1::StepSample& sample = *progress.add_samples();
    sample.set_step(step);
    sample.set_loss_sum(loss * 64);
    sample.set_count(64);
    sample.set_samples_digest(100 + step);
    sample.set_receipt(1000 + step);
  }
  Write(message);
}

void FakeWorker::Saved(const v1::PrepareRanks& attempt, uint64_t step, const std::string& path) {
  v1::WorkerToCoordinator message;
  v1::CheckpointFile& file =
      *About(attempt, 0, message.mutable_rank_report())->mutable_progress()->mutable_checkpoint();
  file.set_step(step);
  file.set_path(path);
  Write(message);
}

void FakeWorker::Finished(const v1::PrepareRanks& attempt, uint32_t rank,
                          const std::string& digest) {
  v1::WorkerToCoordinator message;
  About(attempt, rank, message.mutable_rank_report())
      ->mutable_finished()
      ->set_parameter_digest(digest);
  Write(message);
}

void FakeWorker::Exited(const v1::PrepareRanks& attempt, uint32_t rank, int exit_code,
                        bool aborted) {
  v1::WorkerToCoordinator message;
  v1::RankExited& exited = *About(attempt, rank, message.mutable_rank_exited());
  exited.set_exit_code(exit_code);
  exited.set_aborted(aborted);
  Write(message);
}

}  // namespace tandem
