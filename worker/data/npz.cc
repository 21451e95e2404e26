#include <zip.h>

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "worker/data/npy.h"

namespace tandem::data {
namespace {

constexpr size_t kChunkBytes = size_t{1} << 20;

// Read-only, so closing has nothing to write and cannot fail.
struct Discard {
  void operator()(zip_t* archive) const { zip_discard(archive); }
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};

std::unique_ptr<zip_t, Discard> OpenArchive(absl::string_view bytes) {
  zip_source_t* source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, nullptr);
  if (source == nullptr) return nullptr;
  zip_t* archive = zip_open_from_source(source, ZIP_RDONLY, nullptr);
  if (archive == nullptr) zip_source_free(source);
  return std::unique_ptr<zip_t, Discard>(archive);
}

// The names of at most so many arrays as fit into a message.
// As the key `inputs` takes them: without the ".npy" of the files in it.
std::string NamesIn(zip_t* archive) {
  constexpr zip_int64_t kShown = 8;
  const zip_int64_t count = zip_get_num_entries(archive, 0);
  std::string names;
  for (zip_int64_t i = 0; i < count && i < kShown; ++i) {
    const char* name = zip_get_name(archive, static_cast<zip_uint64_t>(i), 0);
    const absl::string_view shown = name == nullptr ? "?" : name;
    absl::StrAppend(&names, i == 0 ? "" : ", ", absl::StripSuffix(shown, ".npy"));
  }
  return absl::StrCat(names.empty() ? "nothing" : names, count > kShown ? ", ..." : "");
}

// Appends the next `count` bytes of the file, or all there are; false: it is damaged.
bool Append(zip_file_t* file, uint64_t count, std::string* bytes) {
  std::string chunk(kChunkBytes, '\0');
  zip_int64_t got = 1;
  while (count > 0 && got > 0) {
    got = zip_fread(file, chunk.data(), std::min<uint64_t>(count, chunk.size()));
    if (got < 0) return false;
    bytes->append(chunk, 0, static_cast<size_t>(got));
    count -= static_cast<uint64_t>(got);
  }
  return true;
}

}  // namespace

absl::StatusOr<std::string> ExtractNpy(absl::string_view archive_bytes, const std::string& name,
                                       absl::string_view place) {
  const auto refuse = [&](const auto&... why) {
    return absl::InvalidArgumentError(absl::StrCat(place, ": ", why...));
  };
  const auto archive = OpenArchive(archive_bytes);
  if (archive == nullptr) return refuse("is not a whole archive of NumPy arrays");
  const zip_int64_t index = zip_name_locate(archive.get(), (name + ".npy").c_str(), 0);
  if (index < 0) return refuse("has no array '", name, "'; it holds ", NamesIn(archive.get()));
  const std::unique_ptr<zip_file_t, Discard> file(
      zip_fopen_index(archive.get(), static_cast<zip_uint64_t>(index), 0));
  if (file == nullptr) return refuse("array '", name, "': ", zip_strerror(archive.get()));
  std::string bytes;
  const auto damaged = [&] {
    return refuse("array '", name, "': ", zip_file_strerror(file.get()));
  };
  if (!Append(file.get(), kMaxNpyHeaderBytes, &bytes)) return damaged();
  const auto whole = NpyFileBytes(bytes, place);
  if (!whole.ok()) return whole.status();
  // One byte more, to reach the end of a right file and its check sum.
  if (bytes.size() <= *whole && !Append(file.get(), *whole - bytes.size() + 1, &bytes)) {
    return damaged();
  }
  return bytes;
}

}  // namespace tandem::data
