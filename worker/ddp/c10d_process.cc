#include "worker/ddp/c10d_process.h"

#include <c10/util/Logging.h>

#include <cstdlib>

namespace tandem::ddp {

void PrepareProcessForC10d() {
  setenv("RES_OPTIONS", "attempts:0", /*overwrite=*/1);  // resolv.conf(5)
  if (std::getenv("TORCH_CPP_LOG_LEVEL") == nullptr) FLAGS_caffe2_log_level = c10::GLOG_FATAL;
}

}  // namespace tandem::ddp
