#include "worker/trainer/tracer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "ATen/Parallel.h"
#include "absl/strings/str_cat.h"
#include "c10/core/ScalarType.h"
#include "common/frame.h"
#include "worker/ddp/parameter_digest.h"

namespace tandem::trainer {
namespace {

// Half a frame: what is longer is cut.
constexpr size_t kMostValueBytes = kMaxFrameBytes / 2;

template <typename Trace>
void AddDigests(const std::vector<ddp::NamedTensor>& tensors, Trace* trace) {
  for (const ddp::NamedTensor& named : tensors) {
    v1::TensorDigest& digest = *trace->add_tensors();
    digest.set_name(named.name);
    digest.set_sha256(ddp::ParameterDigest({&named, 1}));
    digest.set_dtype(c10::getDtypeNames(named.tensor.scalar_type()).first);
    digest.mutable_shape()->Add(named.tensor.sizes().begin(), named.tensor.sizes().end());
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Tracer>> Tracer::Create(
    const v1::Trace& spec, const Identity& identity, const std::vector<ddp::NamedTensor>& tensors) {
  std::error_code error;
  std::filesystem::create_directories(spec.dir(), error);
  const std::string path = absl::StrCat(spec.dir(), "/rank-", identity.rank.value(), ".trace");
  FileDescriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (file.get() < 0) {
    const absl::Status cause = absl::ErrnoToStatus(errno, path);
    return absl::InvalidArgumentError(absl::StrCat("trace.dir: ", cause.message()));
  }
  auto tracer = std::unique_ptr<Tracer>(new Tracer(spec, path, std::move(file)));
  v1::TraceHeader header;
  header.set_rank(identity.rank.value());
  header.set_world_size(identity.world_size);
  header.set_logical_ranks(identity.logical_ranks);
  header.set_logical_begin(identity.range.begin);
  header.set_logical_end(identity.range.end);
  header.set_threads(static_cast<uint32_t>(at::get_num_threads()));
  header.set_device(identity.device);
  header.set_training_samples(identity.training_samples);
  AddDigests(tensors, &header);
  header.set_values(tracer->ValuesAt(0, tensors));
  if (absl::Status status = tracer->Write(header); !status.ok()) return status;
  return tracer;
}

void Tracer::OnLeaf(LogicalRank logical_rank, absl::Span<const int64_t> samples,
                    uint64_t first_draw, const std::optional<ddp::Tally>& tally) {
  v1::LeafTrace& leaf = *step_.add_leaves();
  leaf.set_logical_rank(logical_rank.value());
  leaf.mutable_samples()->Add(samples.begin(), samples.end());
  leaf.set_first_draw(first_draw);
  if (!tally) return;
  leaf.set_loss_sum(tally->loss_sum);
  leaf.set_count(tally->count);
}

absl::Status Tracer::OnStep(const v1::StepSample& sample, double gradient_norm,
                            const std::vector<ddp::NamedTensor>& tensors) {
  step_.set_step(sample.step());
  step_.set_epoch(sample.epoch());
  step_.set_loss_sum(sample.loss_sum());
  step_.set_count(sample.count());
  step_.set_learning_rate(sample.learning_rate());
  step_.set_gradient_norm(gradient_norm);
  AddDigests(tensors, &step_);
  step_.set_values(ValuesAt(sample.step(), tensors));
  const absl::Status status = Write(step_);
  step_.Clear();
  return status;
}

absl::Status Tracer::Write(const google::protobuf::MessageLite& message) {
  std::string bytes;
  if (absl::Status status = AppendFrame(message, &bytes); !status.ok()) return status;
  for (size_t written = 0; written < bytes.size();) {
    const ssize_t more = write(file_.get(), bytes.data() + written, bytes.size() - written);
    if (more < 0 && errno != EINTR) return absl::ErrnoToStatus(errno, path_);
    if (more > 0) written += static_cast<size_t>(more);
  }
  return absl::OkStatus();
}

std::string Tracer::ValuesAt(uint64_t step, const std::vector<ddp::NamedTensor>& tensors) const {
  if (!spec_.has_tensor() || spec_.tensor_step() != step) return "";
  for (const ddp::NamedTensor& named : tensors) {
    if (named.name != spec_.tensor()) continue;
    const at::Tensor values = named.tensor.detach().cpu().contiguous();
    const size_t size = std::min(values.nbytes(), kMostValueBytes);
    return {static_cast<const char*>(values.const_data_ptr()), size};
  }
  return "";
}

}  // namespace tandem::trainer
