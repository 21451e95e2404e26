#include "worker/data/open_source.h"

#include <new>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/read_file.h"
#include "common/safetensors/safetensors_file.h"
#include "worker/data/array_samples.h"
#include "worker/data/csv.h"
#include "worker/data/fingerprint.h"
#include "worker/data/gunzip.h"
#include "worker/data/idx.h"
#include "worker/data/npy.h"
#include "worker/data/samples.h"
#include "worker/data/synthetic.h"
#include "worker/data/text.h"

namespace tandem::data {
namespace {

std::string Place(const std::string& path, absl::string_view key) {
  return absl::StrCat(path, " (", key, ")");
}

// Reads the files of one data set and remembers which they were and what was in them.
class Files {
 public:
  absl::StatusOr<std::string> Read(const std::string& path, absl::string_view key) {
    places_.push_back(Place(path, key));
    absl::StatusOr<std::string> bytes = ReadFile(path);
    if (!bytes.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(bytes.status().message(), " (", key, ")"));
    }
    digests_.push_back(Sha256Hex(*bytes));
    return bytes;
  }

  const std::vector<std::string>& digests() const { return digests_; }
  // Also of one that could not be read.
  const std::vector<std::string>& places() const { return places_; }

 private:
  std::vector<std::string> places_;
  std::vector<std::string> digests_;
};

absl::StatusOr<Samples> Combine(const absl::StatusOr<ArrayView>& inputs,
                                const absl::StatusOr<ArrayView>& targets, const ArrayKeys& keys) {
  if (!inputs.ok()) return inputs.status();
  if (!targets.ok()) return targets.status();
  return MakeSamples(*inputs, *targets, keys);
}

absl::StatusOr<Samples> ReadCsv(const v1::Csv& keys, Files* files) {
  const auto text = files->Read(keys.path(), "data.csv.path");
  if (!text.ok()) return text.status();
  return ParseCsv(*text, keys.path(), keys);
}

absl::StatusOr<Samples> ReadNpy(const v1::Npy& keys, Files* files) {
  const auto input_bytes = files->Read(keys.inputs(), "data.npy.inputs");
  if (!input_bytes.ok()) return input_bytes.status();
  const auto target_bytes = files->Read(keys.targets(), "data.npy.targets");
  if (!target_bytes.ok()) return target_bytes.status();
  return Combine(ParseNpy(*input_bytes, Place(keys.inputs(), "data.npy.inputs")),
                 ParseNpy(*target_bytes, Place(keys.targets(), "data.npy.targets")),
                 {"data.npy", keys.classes(), keys.vocabulary()});
}

absl::StatusOr<Samples> ReadNpz(const v1::Npz& keys, Files* files) {
  const auto archive = files->Read(keys.path(), "data.npz.path");
  if (!archive.ok()) return archive.status();
  const std::string input_place = Place(keys.path(), "data.npz.inputs");
  const auto input_bytes = ExtractNpy(*archive, keys.inputs(), input_place);
  if (!input_bytes.ok()) return input_bytes.status();
  const std::string target_place = Place(keys.path(), "data.npz.targets");
  const auto target_bytes = ExtractNpy(*archive, keys.targets(), target_place);
  if (!target_bytes.ok()) return target_bytes.status();
  return Combine(ParseNpy(*input_bytes, input_place), ParseNpy(*target_bytes, target_place),
                 {"data.npz", keys.classes(), keys.vocabulary()});
}

// Inflates no more than the header announces, and one byte to see whether there is more.
absl::StatusOr<std::string> GunzipIdx(absl::string_view bytes, size_t dimensions,
                                      const std::string& place) {
  const auto beginning = Gunzip(bytes, kMaxIdxHeaderBytes, place);
  if (!beginning.ok()) return beginning;
  const auto whole = IdxFileBytes(*beginning, dimensions, place);
  if (!whole.ok()) return whole.status();
  return Gunzip(bytes, *whole + 1, place);
}

absl::StatusOr<std::string> ReadPlainOrGzip(const std::string& path, absl::string_view key,
                                            size_t dimensions, Files* files) {
  auto bytes = files->Read(path, key);
  if (!bytes.ok() || !IsGzip(*bytes)) return bytes;
  return GunzipIdx(*bytes, dimensions, Place(path, key));
}

absl::StatusOr<Samples> ReadIdx(const v1::Idx& keys, Files* files) {
  constexpr size_t kImageDimensions = 3, kLabelDimensions = 1;
  const auto image_bytes =
      ReadPlainOrGzip(keys.images(), "data.idx.images", kImageDimensions, files);
  if (!image_bytes.ok()) return image_bytes.status();
  const auto label_bytes =
      ReadPlainOrGzip(keys.labels(), "data.idx.labels", kLabelDimensions, files);
  if (!label_bytes.ok()) return label_bytes.status();
  return Combine(ParseIdx(*image_bytes, kImageDimensions, Place(keys.images(), "data.idx.images")),
                 ParseIdx(*label_bytes, kLabelDimensions, Place(keys.labels(), "data.idx.labels")),
                 {"data.idx", keys.classes(), 0});
}

absl::StatusOr<ArrayView> TensorOf(const safetensors::SafetensorsFile& file,
                                   const std::string& name, const std::string& place) {
  const safetensors::TensorInfo* tensor = file.Find(name);
  if (tensor != nullptr) return ArrayView{place, tensor->dtype, tensor->shape, file.Bytes(*tensor)};
  return absl::InvalidArgumentError(absl::StrCat(place, ": has no tensor '", name, "'"));
}

absl::StatusOr<Samples> ReadSafetensors(const v1::Safetensors& keys, Files* files) {
  auto bytes = files->Read(keys.path(), "data.safetensors.path");
  if (!bytes.ok()) return bytes.status();
  const auto file = safetensors::SafetensorsFile::Parse(
      *std::move(bytes), Place(keys.path(), "data.safetensors.path"));
  if (!file.ok()) return absl::InvalidArgumentError(file.status().message());
  return Combine(TensorOf(*file, keys.inputs(), Place(keys.path(), "data.safetensors.inputs")),
                 TensorOf(*file, keys.targets(), Place(keys.path(), "data.safetensors.targets")),
                 {"data.safetensors", keys.classes(), keys.vocabulary()});
}

absl::StatusOr<TextSource> ReadText(const v1::Text& keys, Files* files) {
  const auto text = files->Read(keys.path(), "data.text.path");
  if (!text.ok()) return text.status();
  const std::string place = Place(keys.path(), "data.text.path");
  auto tokens = Tokenize(*text, keys.unit(), place);
  if (!tokens.ok()) return tokens.status();
  const uint32_t stride = keys.has_stride() ? keys.stride() : keys.window();
  return TextSource::Create(*std::move(tokens), keys.window(), stride, place);
}

using SourceOr = absl::StatusOr<std::unique_ptr<SampleSource>>;

SourceOr InMemory(absl::StatusOr<Samples> samples) {
  if (!samples.ok()) return samples.status();
  return std::make_unique<MemorySource>(*std::move(samples));
}

SourceOr OnHeap(absl::StatusOr<TextSource> source) {
  if (!source.ok()) return source.status();
  return std::make_unique<TextSource>(*std::move(source));
}

SourceOr Open(const v1::Data& data, uint64_t seed, Files* files) {
  switch (data.kind_case()) {
    case v1::Data::kCsv:
      return InMemory(ReadCsv(data.csv(), files));
    case v1::Data::kNpy:
      return InMemory(ReadNpy(data.npy(), files));
    case v1::Data::kNpz:
      return InMemory(ReadNpz(data.npz(), files));
    case v1::Data::kIdx:
      return InMemory(ReadIdx(data.idx(), files));
    case v1::Data::kText:
      return OnHeap(ReadText(data.text(), files));
    case v1::Data::kSafetensors:
      return InMemory(ReadSafetensors(data.safetensors(), files));
    case v1::Data::kSynthetic:
      return MakeSynthetic(data.synthetic(), seed);
    case v1::Data::KIND_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("data: one kind must be given");
}

// Nothing that is read from a file should end the process.
SourceOr OpenWithinMemory(const v1::Data& data, uint64_t seed, Files* files) {
  try {
    return Open(data, seed, files);
  } catch (const std::bad_alloc&) {
    return absl::InvalidArgumentError(absl::StrCat(absl::StrJoin(files->places(), ", "),
                                                   ": too large for the memory of this machine"));
  }
}

}  // namespace

absl::StatusOr<OpenedSource> OpenSource(const v1::Data& data, uint64_t seed) {
  Files files;
  SourceOr source = OpenWithinMemory(data, seed, &files);
  if (!source.ok()) return source.status();
  std::vector<std::string> origins = files.digests();
  if (data.has_synthetic()) origins.push_back(absl::StrCat(seed));
  return OpenedSource{*std::move(source), FingerprintOf(data, origins)};
}

}  // namespace tandem::data
