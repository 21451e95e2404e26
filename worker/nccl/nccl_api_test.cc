// Compares nccl_api.h with the header of the real NCCL. Built only where that is installed.

#include "worker/nccl/nccl_api.h"

#include <gtest/gtest.h>
#include <nccl.h>

#include <type_traits>

namespace tandem::nccl {
namespace {

// A type of the real header in ours.
template <typename Real>
struct InOurs {
  using type = Real;
};
template <typename Real>
using Ours = typename InOurs<Real>::type;

#define SAME(real, ours) \
  template <>            \
  struct InOurs<real> {  \
    using type = ours;   \
  };                     \
  static_assert(sizeof(real) == sizeof(ours) && alignof(real) == alignof(ours))

SAME(ncclResult_t, NcclResult);
SAME(ncclDataType_t, NcclDataType);
SAME(ncclRedOp_t, NcclReduction);
SAME(ncclUniqueId, NcclUniqueId);
#undef SAME

template <>
struct InOurs<ncclComm> {
  using type = NcclComm;
};
template <>
struct InOurs<ncclConfig_t> {
  using type = NcclConfig;
};
template <>
struct InOurs<cudaStream_t> {
  using type = NcclApi::Stream;
};
template <typename Real>
struct InOurs<Real*> {
  using type = Ours<Real>*;
};
template <typename Result, typename... Arguments>
struct InOurs<Result(Arguments...)> {
  using type = Ours<Result>(Ours<Arguments>...);
};

template <typename Function, typename Real>
constexpr bool IsSame(Function NcclApi::*, Real) {
  return std::is_same_v<Function, Ours<Real>>;
}

static_assert(IsSame(&NcclApi::get_version, &ncclGetVersion));
static_assert(IsSame(&NcclApi::get_unique_id, &ncclGetUniqueId));
static_assert(IsSame(&NcclApi::get_error_string, &ncclGetErrorString));
static_assert(IsSame(&NcclApi::get_last_error, &ncclGetLastError));
static_assert(IsSame(&NcclApi::comm_init_rank_config, &ncclCommInitRankConfig));
static_assert(IsSame(&NcclApi::comm_get_async_error, &ncclCommGetAsyncError));
static_assert(IsSame(&NcclApi::comm_finalize, &ncclCommFinalize));
static_assert(IsSame(&NcclApi::comm_destroy, &ncclCommDestroy));
static_assert(IsSame(&NcclApi::comm_abort, &ncclCommAbort));
static_assert(IsSame(&NcclApi::group_start, &ncclGroupStart));
static_assert(IsSame(&NcclApi::group_end, &ncclGroupEnd));
static_assert(IsSame(&NcclApi::send, &ncclSend));
static_assert(IsSame(&NcclApi::recv, &ncclRecv));
static_assert(IsSame(&NcclApi::all_gather, &ncclAllGather));
static_assert(IsSame(&NcclApi::broadcast, &ncclBroadcast));
static_assert(IsSame(&NcclApi::all_reduce, &ncclAllReduce));

#define VALUE(ours, real) static_assert(static_cast<int>(ours) == static_cast<int>(real))

VALUE(NcclResult::kSuccess, ncclSuccess);
VALUE(NcclResult::kUnhandledDeviceError, ncclUnhandledCudaError);
VALUE(NcclResult::kSystemError, ncclSystemError);
VALUE(NcclResult::kInternalError, ncclInternalError);
VALUE(NcclResult::kInvalidArgument, ncclInvalidArgument);
VALUE(NcclResult::kInvalidUsage, ncclInvalidUsage);
VALUE(NcclResult::kRemoteError, ncclRemoteError);
VALUE(NcclResult::kInProgress, ncclInProgress);
VALUE(NcclDataType::kUint8, ncclUint8);
VALUE(NcclDataType::kFloat32, ncclFloat32);
VALUE(NcclReduction::kSum, ncclSum);
VALUE(NcclConfig::kDefault, NCCL_CONFIG_UNDEF_INT);
#undef VALUE

// Ours is the beginning of the real one.
static_assert(sizeof(NcclConfig) <= sizeof(ncclConfig_t));

#define FIELD(ours, real)                                                     \
  static_assert(offsetof(NcclConfig, ours) == offsetof(ncclConfig_t, real) && \
                std::is_same_v<decltype(NcclConfig::ours), decltype(ncclConfig_t::real)>)

FIELD(size, size);
FIELD(magic, magic);
FIELD(version, version);
FIELD(blocking, blocking);
FIELD(cga_cluster_size, cgaClusterSize);
FIELD(min_ctas, minCTAs);
FIELD(max_ctas, maxCTAs);
FIELD(net_name, netName);
FIELD(split_share, splitShare);
#undef FIELD

TEST(NcclApiTest, Config_BeginsAsTheRealOne) {
  const ncclConfig_t real = NCCL_CONFIG_INITIALIZER;
  const NcclConfig ours;
  EXPECT_EQ(ours.magic, real.magic);
  EXPECT_LE(ours.size, real.size);
  EXPECT_LE(ours.version, real.version);
  EXPECT_EQ(ours.blocking, real.blocking);
  EXPECT_EQ(ours.cga_cluster_size, real.cgaClusterSize);
  EXPECT_EQ(ours.min_ctas, real.minCTAs);
  EXPECT_EQ(ours.max_ctas, real.maxCTAs);
  EXPECT_EQ(ours.net_name, real.netName);
  EXPECT_EQ(ours.split_share, real.splitShare);
}

}  // namespace
}  // namespace tandem::nccl
