#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "tests/nccl/meeting.h"
#include "tests/nccl/mesh.h"
#include "tests/nccl/sockets.h"
#include "worker/nccl/nccl_api.h"

namespace tandem::stand_in {

// What this process has put into streams, by all its communicators.
extern std::atomic<uint64_t> launches;

// What one collective, or one group, does with the connections: runs in the stream.
using Work = std::function<nccl::NcclResult(Mesh&, uint64_t number, const Interrupt&)>;

// The inside of one communicator: a thread meets the other ranks and puts work into streams, while
// callers ask whether it is done. Kept by what it has put there. Thread-safe.
class Communicator : public std::enable_shared_from_this<Communicator> {
 public:
  struct Faults {
    std::optional<uint64_t> failing_exchange;  // fails asynchronously; counted from 1
    bool no_leave = false;                     // Finalize stays in progress
    bool silent_death = false;                 // a peer that is gone is not noticed
  };
  Communicator(const nccl::NcclUniqueId& id, Party self, Faults faults);
  ~Communicator();

  // kInProgress: at it.
  nccl::NcclResult State();

  void Launch(nccl::NcclApi::Stream stream, Work work);
  // In progress until all that was launched is over.
  void Finalize();
  // Returns once its thread is gone: what is in streams then does nothing, as soon as its turn comes.
  void Stop();

 private:
  using Job = std::function<nccl::NcclResult()>;

  void Do(Job job);
  void RunJobs();
  nccl::NcclResult PutIntoStream(nccl::NcclApi::Stream stream, Work work);
  void RunInStream(const Work& work);
  nccl::NcclResult AwaitStreams();
  void Fail(nccl::NcclResult error);

  const Faults faults_;
  Interrupt interrupt_;
  std::optional<Mesh> mesh_;  // by the thread, then by streams
  uint64_t exchanges_ = 0;    // by streams

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;  // the first is being done
  uint64_t in_streams_ = 0;
  bool stopped_ = false;
  nccl::NcclResult error_ = nccl::NcclResult::kSuccess;  // the first

  std::thread thread_;
};

}  // namespace tandem::stand_in
