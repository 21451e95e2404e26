#include "tests/nccl/communicator.h"

#include <chrono>
#include <string>
#include <utility>

#include "tests/nccl/warning.h"
#include "worker/device/testing/host_stream.h"

namespace tandem::stand_in {

using nccl::NcclResult;

// About what NCCL takes, so that a caller who does not ask again is found out.
constexpr std::chrono::microseconds kLaunchTime{50};

std::atomic<uint64_t> launches = 0;

Communicator::Communicator(const nccl::NcclUniqueId& id, Party self, Faults faults)
    : faults_(faults) {
  Do([this, id, self] {
    std::vector<FileDescriptor> peers(1);
    const NcclResult met = Meet(id, self, interrupt_, &peers);
    if (met == NcclResult::kSuccess) {
      mesh_.emplace(std::move(peers), self.rank, !faults_.silent_death);
    }
    return met;
  });
  thread_ = std::thread([this] { RunJobs(); });
}

Communicator::~Communicator() { Stop(); }

NcclResult Communicator::State() {
  const std::lock_guard lock(mutex_);
  if (error_ != NcclResult::kSuccess) return error_;
  return jobs_.empty() ? NcclResult::kSuccess : NcclResult::kInProgress;
}

void Communicator::Launch(nccl::NcclApi::Stream stream, Work work) {
  Do([this, stream, work = std::move(work)] { return PutIntoStream(stream, work); });
}

void Communicator::Finalize() {
  Do([this] { return AwaitStreams(); });
}

void Communicator::Stop() {
  interrupt_.Raise();
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void Communicator::Do(Job job) {
  const std::lock_guard lock(mutex_);
  jobs_.push_back(std::move(job));
  changed_.notify_all();
}

void Communicator::RunJobs() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopped_ || !jobs_.empty(); });
    if (stopped_) return;
    const Job job = jobs_.front();
    lock.unlock();
    const NcclResult result = job();
    if (result != NcclResult::kSuccess) Fail(result);
    lock.lock();
    jobs_.pop_front();
  }
}

NcclResult Communicator::PutIntoStream(nccl::NcclApi::Stream stream, Work work) {
  struct Task {
    std::shared_ptr<Communicator> communicator;
    Work work;
  };
  std::this_thread::sleep_for(kLaunchTime);
  {
    const std::lock_guard lock(mutex_);
    ++in_streams_;
  }
  const auto run = [](void* argument) {
    const std::unique_ptr<Task> task(static_cast<Task*>(argument));
    task->communicator->RunInStream(task->work);
  };
  stream->run(stream, run, new Task{shared_from_this(), std::move(work)});
  ++launches;
  return NcclResult::kSuccess;
}

void Communicator::RunInStream(const Work& work) {
  NcclResult result = NcclResult::kSuccess;
  if (!interrupt_.raised()) {
    result = work(*mesh_, ++exchanges_, interrupt_);
    if (exchanges_ == faults_.failing_exchange) {
      Warn("exchange " + std::to_string(exchanges_) +
           " fails, as "
           "asked for");
      result = NcclResult::kInternalError;
    }
  }
  if (result != NcclResult::kSuccess) {
    Fail(result);
    // As a kernel that waits for its peers goes on to do.
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stopped_; });
  }
  const std::lock_guard lock(mutex_);
  --in_streams_;
  changed_.notify_all();
}

NcclResult Communicator::AwaitStreams() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return stopped_ || (in_streams_ == 0 && !faults_.no_leave); });
  return NcclResult::kSuccess;
}

void Communicator::Fail(NcclResult error) {
  const std::lock_guard lock(mutex_);
  if (error_ == NcclResult::kSuccess) error_ = error;
}

}  // namespace tandem::stand_in
