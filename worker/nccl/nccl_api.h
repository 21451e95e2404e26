#pragma once

#include <climits>
#include <cstddef>

#include "worker/device/device.h"

// What this program uses of NCCL's binary interface, declared by hand: it is loaded at run time, and
// neither its header nor CUDA's is needed to build. nccl_api_test.cc compares this file with the
// header of the real one, where that is installed. RCCL has the same interface.
namespace tandem::nccl {

// A communicator, of the library's own.
struct NcclComm;

struct NcclUniqueId {
  char bytes[128];
};

enum class NcclResult : unsigned {
  kSuccess = 0,
  kUnhandledDeviceError = 1,  // of the driver or the runtime
  kSystemError = 2,
  kInternalError = 3,
  kInvalidArgument = 4,
  kInvalidUsage = 5,
  kRemoteError = 6,  // a peer has exited, or the network to it has failed
  kInProgress = 7,   // asked of a communicator that does not block; it is at it
};

enum class NcclDataType : unsigned { kUint8 = 1, kFloat32 = 7 };

enum class NcclReduction : unsigned { kSum = 0 };

// How a communicator is made. The library takes as many bytes as `size` says, and its own defaults for
// what a caller of `version` could not know, so that this is the layout of 2.18 for good.
struct NcclConfig {
  static constexpr unsigned kMagic = 0xcafebeef;
  static constexpr int kDefault = INT_MIN;

  size_t size = sizeof(NcclConfig);
  unsigned magic = kMagic;
  unsigned version = 21800;
  int blocking = kDefault;
  int cga_cluster_size = kDefault;
  int min_ctas = kDefault;
  int max_ctas = kDefault;
  const char* net_name = nullptr;
  int split_share = kDefault;
};

// NCCL's functions by their names without "nccl". Counts are of elements. What takes a stream puts its
// work there and returns; buffers are the device's memory. No two threads at once with one `comm`.
struct NcclApi {
  using Stream = device::StreamHandle*;

  // 22809 is 2.28.9.
  NcclResult (*get_version)(int* version);
  NcclResult (*get_unique_id)(NcclUniqueId* id);
  // What the code means; and what was the last warning of this process, if any. `comm` may be null.
  const char* (*get_error_string)(NcclResult result);
  const char* (*get_last_error)(NcclComm* comm);

  NcclResult (*comm_init_rank_config)(NcclComm** comm, int ranks, NcclUniqueId id, int rank,
                                      NcclConfig* config);
  NcclResult (*comm_get_async_error)(NcclComm* comm, NcclResult* error);
  NcclResult (*comm_finalize)(NcclComm* comm);
  NcclResult (*comm_destroy)(NcclComm* comm);
  NcclResult (*comm_abort)(NcclComm* comm);

  NcclResult (*group_start)();
  NcclResult (*group_end)();
  NcclResult (*send)(const void* from, size_t count, NcclDataType type, int peer, NcclComm* comm,
                     Stream stream);
  NcclResult (*recv)(void* to, size_t count, NcclDataType type, int peer, NcclComm* comm,
                     Stream stream);
  // In place if `from` is this rank's slot of `to`. `count`: of one rank's.
  NcclResult (*all_gather)(const void* from, void* to, size_t count, NcclDataType type,
                           NcclComm* comm, Stream stream);
  NcclResult (*broadcast)(const void* from, void* to, size_t count, NcclDataType type, int root,
                          NcclComm* comm, Stream stream);
  NcclResult (*all_reduce)(const void* from, void* to, size_t count, NcclDataType type,
                           NcclReduction reduction, NcclComm* comm, Stream stream);
};

}  // namespace tandem::nccl
