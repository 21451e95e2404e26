#include "worker/nccl/nccl_library.h"

#include <dlfcn.h>

#include <cstdlib>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "worker/nccl/nccl_status.h"

namespace tandem::nccl {
namespace {

// The first with all fields of NcclConfig.
constexpr int kOldestVersion = 21800;

std::string VersionText(int version) {
  return absl::StrFormat("%d.%d.%d", version / 10000, version / 100 % 100, version % 100);
}

int VersionOf(const NcclApi& api) {
  int version = 0;
  api.get_version(&version);
  return version;
}

// Looks functions up, and remembers the first that is not there.
class Symbols {
 public:
  explicit Symbols(const std::string& name) : name_(name), handle_(dlopen(name.c_str(), RTLD_NOW)) {
    if (handle_ == nullptr) {
      status_ = absl::FailedPreconditionError(
          absl::StrCat("cannot load ", name, ": ", dlerror(),
                       " (is NCCL installed, and its folder in LD_LIBRARY_PATH?)"));
    }
  }

  template <typename Function>
  void Find(const char* symbol, Function*& function) {
    if (!status_.ok()) return;
    function = reinterpret_cast<Function*>(dlsym(handle_, symbol));
    if (function != nullptr) return;
    status_ = absl::FailedPreconditionError(
        absl::StrCat(name_, " has no function ", symbol, ": it is no NCCL, or too old a one"));
  }

  const absl::Status& status() const { return status_; }

 private:
  const std::string name_;
  void* const handle_;  // never closed: the library has threads
  absl::Status status_;
};

void FindAll(Symbols& symbols, NcclApi& api) {
  symbols.Find("ncclGetUniqueId", api.get_unique_id);
  symbols.Find("ncclGetErrorString", api.get_error_string);
  symbols.Find("ncclGetLastError", api.get_last_error);
  symbols.Find("ncclCommInitRankConfig", api.comm_init_rank_config);
  symbols.Find("ncclCommGetAsyncError", api.comm_get_async_error);
  symbols.Find("ncclCommFinalize", api.comm_finalize);
  symbols.Find("ncclCommDestroy", api.comm_destroy);
  symbols.Find("ncclCommAbort", api.comm_abort);
  symbols.Find("ncclGroupStart", api.group_start);
  symbols.Find("ncclGroupEnd", api.group_end);
  symbols.Find("ncclSend", api.send);
  symbols.Find("ncclRecv", api.recv);
  symbols.Find("ncclAllGather", api.all_gather);
  symbols.Find("ncclBroadcast", api.broadcast);
  symbols.Find("ncclAllReduce", api.all_reduce);
}

}  // namespace

absl::StatusOr<std::unique_ptr<NcclLibrary>> NcclLibrary::Load(const std::string& name) {
  // NCCL would take every id from there, and so mix jobs that have the same, without a word.
  if (std::getenv("NCCL_COMM_ID") != nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat(name,
                     " would let jobs meet on one port, since NCCL_COMM_ID is set: take it "
                     "out of the environment of tandem-worker"));
  }
  Symbols symbols(name);
  NcclApi api = {};
  symbols.Find("ncclGetVersion", api.get_version);
  if (!symbols.status().ok()) return symbols.status();
  // First the version: an old library also lacks functions.
  if (const int version = VersionOf(api); version < kOldestVersion) {
    return absl::FailedPreconditionError(absl::StrFormat("%s is NCCL %s, and %s or newer is needed",
                                                         name, VersionText(version),
                                                         VersionText(kOldestVersion)));
  }
  FindAll(symbols, api);
  if (!symbols.status().ok()) return symbols.status();
  return absl::WrapUnique(new NcclLibrary(api));
}

std::string NcclLibrary::Version() const {
  return absl::StrCat("NCCL ", VersionText(VersionOf(api_)));
}

absl::StatusOr<std::string> NcclLibrary::MintUniqueId() const {
  NcclUniqueId id;
  const NcclResult result = api_.get_unique_id(&id);
  if (result == NcclResult::kSuccess) return std::string(id.bytes, sizeof(id.bytes));
  return absl::UnavailableError(
      absl::StrCat("no unique id for the ranks: ", TextOf(api_, nullptr, result)));
}

}  // namespace tandem::nccl
