#include "worker/data/gunzip.h"

#define ZLIB_CONST
#include <zlib.h>

#include <algorithm>
#include <limits>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace tandem::data {
namespace {

constexpr int kGzipOnly = 16 + MAX_WBITS;

// Inflates one gzip member off the front of `bytes`, or what of it makes `text` `limit` bytes long;
// false: it is damaged or cut.
bool InflateMember(absl::string_view* bytes, uint64_t limit, std::string* text) {
  z_stream stream{};
  if (inflateInit2(&stream, kGzipOnly) != Z_OK) return false;
  const absl::Cleanup end = [&] { inflateEnd(&stream); };
  std::string chunk(size_t{1} << 16, '\0');
  int result = Z_OK;
  while (result == Z_OK && text->size() < limit) {
    const size_t given = std::min<size_t>(bytes->size(), std::numeric_limits<uInt>::max());
    stream.next_in = reinterpret_cast<const Bytef*>(bytes->data());
    stream.avail_in = static_cast<uInt>(given);
    stream.next_out = reinterpret_cast<Bytef*>(chunk.data());
    stream.avail_out = static_cast<uInt>(chunk.size());
    result = inflate(&stream, Z_NO_FLUSH);
    bytes->remove_prefix(given - stream.avail_in);
    text->append(chunk, 0, std::min(chunk.size() - stream.avail_out, limit - text->size()));
  }
  return result == Z_STREAM_END || (result == Z_OK && text->size() == limit);
}

}  // namespace

bool IsGzip(absl::string_view bytes) { return absl::StartsWith(bytes, "\x1f\x8b"); }

absl::StatusOr<std::string> Gunzip(absl::string_view bytes, uint64_t limit,
                                   absl::string_view place) {
  std::string text;
  do {
    if (!IsGzip(bytes) || !InflateMember(&bytes, limit, &text)) {
      return absl::InvalidArgumentError(absl::StrCat(place, ": is not a whole gzip file"));
    }
  } while (!bytes.empty() && text.size() < limit);
  return text;
}

}  // namespace tandem::data
