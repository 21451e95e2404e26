// FOR TESTS ONLY. This is NOT NCCL: it is a stand-in of the same name, libnccl.so.2, with the functions
// that Tandem calls. Its device is the host (worker/device/testing), its network the loopback
// interface, its speed no matter; it is never installed, and nothing but tests may load it.
//
// It behaves as NCCL does where a caller can tell: the id is minted by a process that listens from then
// on, nothing blocks, what takes its time is "in progress", work runs in the caller's stream, a peer
// that dies is an asynchronous error, and what is stuck stays so until it is aborted. What NCCL leaves
// undefined ends the process here: two threads inside one communicator, a communicator used after its
// end, main memory given for the device's.
//
// TANDEM_STAND_IN_NCCL_FAULT makes it fail: "mint": no id can be had. "RANK:N": on that rank the Nth
// exchange of each communicator fails asynchronously. "leave": no communicator is ever finalized.
// "abort": no abort ever returns, or ends anything. "silence": a peer that is gone is not noticed, as
// none is between devices of one host. "check-in": a rank dies once it has told the minter of itself.
//
// standInLaunches() tells how many exchanges this process has put into streams.

#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/nccl/entrance.h"
#include "tests/nccl/meeting.h"
#include "tests/nccl/operations.h"
#include "tests/nccl/warning.h"
#include "worker/device/testing/host_stream.h"

namespace tandem::stand_in {
namespace {

using nccl::NcclApi;
using nccl::NcclComm;
using nccl::NcclDataType;
using nccl::NcclResult;

std::string Fault() {
  const char* fault = std::getenv("TANDEM_STAND_IN_NCCL_FAULT");
  return fault == nullptr ? "" : fault;
}

Communicator::Faults FaultsOf(int rank) {
  const std::string fault = Fault();
  Communicator::Faults faults;
  faults.no_leave = fault == "leave";
  faults.silent_death = fault == "silence";
  const size_t colon = fault.find(':');
  if (colon != std::string::npos && std::stoi(fault) == rank) {
    faults.failing_exchange = std::stoull(fault.substr(colon + 1));
  }
  return faults;
}

size_t BytesOf(size_t count, NcclDataType type) {
  return type == NcclDataType::kFloat32 ? count * sizeof(float) : count;
}

std::byte* At(const void* buffer, NcclApi::Stream stream) {
  if (!stream->owns(stream, buffer)) Die("a buffer is in main memory instead of the device's");
  return const_cast<std::byte*>(static_cast<const std::byte*>(buffer));
}

// What is between this thread's group calls, which are of one communicator.
struct Group {
  int depth = 0;
  std::unique_ptr<Entrance> entrance;
  NcclApi::Stream stream = nullptr;
  std::vector<Message> messages;
};
thread_local Group group;

NcclResult StateOfIdle(const Entrance& entrance) {
  const NcclResult state = entrance.inside().State();
  if (state != NcclResult::kInProgress) return state;
  Warn("Attempt to use communicator before the previous operation returned ncclSuccess");
  return NcclResult::kInvalidArgument;
}

NcclResult Launch(const Entrance& entrance, NcclApi::Stream stream, Work work) {
  const NcclResult state = StateOfIdle(entrance);
  if (state != NcclResult::kSuccess) return state;
  entrance.inside().Launch(stream, std::move(work));
  return NcclResult::kInProgress;
}

NcclResult LaunchCollective(NcclComm* comm, NcclApi::Stream stream, Work work) {
  if (group.depth > 0) Die("only sends and receives can be grouped");
  return Launch(Entrance(comm), stream, std::move(work));
}

NcclResult AddToGroup(NcclComm* comm, NcclApi::Stream stream, const Message& message) {
  if (group.depth == 0) Die("a send or receive outside of a group");
  if (group.entrance == nullptr) group.entrance = std::make_unique<Entrance>(comm);
  if (&group.entrance->comm() != comm) Die("a group over two communicators");
  group.stream = stream;
  group.messages.push_back(message);
  return NcclResult::kSuccess;
}

// Its end of the communicator.
NcclResult Close(NcclComm* comm) {
  Entrance(comm).Close();
  return NcclResult::kSuccess;
}

}  // namespace
}  // namespace tandem::stand_in

#pragma GCC visibility push(default)
extern "C" {

using namespace tandem::nccl;      // NOLINT: what follows is in no namespace
using namespace tandem::stand_in;  // NOLINT

NcclResult ncclGetVersion(int* version) {
  *version = 22809;
  return NcclResult::kSuccess;
}

NcclResult ncclGetUniqueId(NcclUniqueId* id) {
  if (Fault() != "mint") return Mint(id);
  Warn("Bootstrap : no socket interface found");
  return NcclResult::kInvalidUsage;
}

const char* ncclGetErrorString(NcclResult result) {
  switch (result) {
    case NcclResult::kSuccess:
      return "no error";
    case NcclResult::kRemoteError:
      return "remote process exited or there was a network error";
    case NcclResult::kInvalidUsage:
      return "invalid usage";
    case NcclResult::kInvalidArgument:
      return "invalid argument";
    case NcclResult::kInProgress:
      return "NCCL operation in progress";
    default:
      return "internal error of the stand-in";
  }
}

const char* ncclGetLastError(NcclComm* comm) { return LastWarning(); }

NcclResult ncclCommInitRankConfig(NcclComm** comm, int ranks, NcclUniqueId id, int rank,
                                  NcclConfig* config) {
  if (config->magic != NcclConfig::kMagic || config->size < sizeof(NcclConfig)) {
    Warn("the configuration was not initialized");
    return NcclResult::kInvalidArgument;
  }
  if (config->blocking != 0) Die("only communicators that do not block");
  if (rank < 0 || rank >= ranks) {
    Warn("Invalid rank requested : " + std::to_string(rank) + "/" + std::to_string(ranks));
    return NcclResult::kInvalidArgument;
  }
  if (rank == 0) PrintVersion();
  *comm = NewComm();
  (*comm)->inside =
      std::make_shared<Communicator>(id, Party{ranks, rank, Fault() == "check-in"}, FaultsOf(rank));
  return NcclResult::kInProgress;
}

NcclResult ncclCommGetAsyncError(NcclComm* comm, NcclResult* error) {
  *error = Entrance(comm).inside().State();
  return NcclResult::kSuccess;
}

NcclResult ncclCommFinalize(NcclComm* comm) {
  const Entrance entrance(comm);
  const NcclResult state = StateOfIdle(entrance);
  if (state != NcclResult::kSuccess) return state;
  entrance.inside().Finalize();
  return NcclResult::kInProgress;
}

NcclResult ncclCommDestroy(NcclComm* comm) { return Close(comm); }

NcclResult ncclCommAbort(NcclComm* comm) {
  while (Fault() == "abort") pause();
  return Close(comm);
}

NcclResult ncclGroupStart() {
  ++group.depth;
  return NcclResult::kSuccess;
}

NcclResult ncclGroupEnd() {
  if (--group.depth > 0) return NcclResult::kSuccess;
  const Group ended = std::exchange(group, {});
  if (ended.messages.empty()) return NcclResult::kSuccess;
  return Launch(*ended.entrance, ended.stream, Exchange(ended.messages));
}

NcclResult ncclSend(const void* from, size_t count, NcclDataType type, int peer, NcclComm* comm,
                    NcclApi::Stream stream) {
  return AddToGroup(comm, stream, {Direction::kSend, peer, At(from, stream), BytesOf(count, type)});
}

NcclResult ncclRecv(void* to, size_t count, NcclDataType type, int peer, NcclComm* comm,
                    NcclApi::Stream stream) {
  return AddToGroup(comm, stream,
                    {Direction::kReceive, peer, At(to, stream), BytesOf(count, type)});
}

NcclResult ncclAllGather(const void* from, void* to, size_t count, NcclDataType type,
                         NcclComm* comm, NcclApi::Stream stream) {
  return LaunchCollective(comm, stream,
                          AllGather(At(from, stream), At(to, stream), BytesOf(count, type)));
}

NcclResult ncclBroadcast(const void* from, void* to, size_t count, NcclDataType type, int root,
                         NcclComm* comm, NcclApi::Stream stream) {
  return LaunchCollective(comm, stream,
                          Broadcast(At(from, stream), At(to, stream), BytesOf(count, type), root));
}

NcclResult ncclAllReduce(const void* from, void* to, size_t count, NcclDataType type,
                         NcclReduction reduction, NcclComm* comm, NcclApi::Stream stream) {
  if (type != NcclDataType::kFloat32) Die("only sums of float32");
  return LaunchCollective(comm, stream,
                          AllReduceSum(reinterpret_cast<const float*>(At(from, stream)),
                                       reinterpret_cast<float*>(At(to, stream)), count));
}

// Not NCCL's.
uint64_t standInLaunches() { return launches; }

}  // extern "C"
#pragma GCC visibility pop

// The signatures are those that callers know.
[[maybe_unused]] constexpr tandem::nccl::NcclApi kSignatures = {
    .get_version = ncclGetVersion,
    .get_unique_id = ncclGetUniqueId,
    .get_error_string = ncclGetErrorString,
    .get_last_error = ncclGetLastError,
    .comm_init_rank_config = ncclCommInitRankConfig,
    .comm_get_async_error = ncclCommGetAsyncError,
    .comm_finalize = ncclCommFinalize,
    .comm_destroy = ncclCommDestroy,
    .comm_abort = ncclCommAbort,
    .group_start = ncclGroupStart,
    .group_end = ncclGroupEnd,
    .send = ncclSend,
    .recv = ncclRecv,
    .all_gather = ncclAllGather,
    .broadcast = ncclBroadcast,
    .all_reduce = ncclAllReduce,
};
