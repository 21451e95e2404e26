#include "worker/data/npy.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/safetensors/tensor_info.h"

namespace tandem::data {
namespace {

constexpr absl::string_view kMagic = "\x93NUMPY";
constexpr size_t kMaxPrefixBytes = 12;  // magic, version and length of what follows

struct NpyHeader {
  std::string descr;  // dtype in NumPy's words
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

// Reads the literal of a Python dictionary that a header is.
class DictionaryReader {
 public:
  explicit DictionaryReader(absl::string_view text) : rest_(text) {}

  std::optional<NpyHeader> Read() {
    if (!Take("{")) return std::nullopt;
    while (!Take("}")) {
      if (!ReadEntry()) return std::nullopt;
      Take(",");
    }
    if (found_ != kAllKeys || !absl::StripAsciiWhitespace(rest_).empty()) return std::nullopt;
    return std::move(header_);
  }

 private:
  enum : unsigned { kDescr = 1, kOrder = 2, kShape = 4, kAllKeys = 7 };

  bool Take(absl::string_view token) {
    rest_ = absl::StripLeadingAsciiWhitespace(rest_);
    return absl::ConsumePrefix(&rest_, token);
  }

  bool ReadEntry() {
    std::string key;
    if (!ReadText(&key) || !Take(":")) return false;
    if (key == "descr") return Found(kDescr) && ReadText(&header_.descr);
    if (key == "fortran_order") return Found(kOrder) && ReadOrder();
    return key == "shape" && Found(kShape) && ReadShape();
  }

  bool Found(unsigned key) { return (std::exchange(found_, found_ | key) & key) == 0; }

  bool ReadText(std::string* text) {
    const absl::string_view quote = Take("'") ? "'" : "\"";
    if (quote == "\"" && !Take("\"")) return false;
    const size_t end = rest_.find(quote);
    if (end == rest_.npos) return false;
    *text = std::string(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return true;
  }

  bool ReadOrder() {
    header_.fortran_order = Take("True");
    return header_.fortran_order || Take("False");
  }

  bool ReadShape() {
    if (!Take("(")) return false;
    while (!Take(")")) {
      if (!ReadSize()) return false;
      if (!Take(",")) return Take(")");
    }
    return true;
  }

  bool ReadSize() {
    rest_ = absl::StripLeadingAsciiWhitespace(rest_);
    const auto* end = std::find_if_not(rest_.begin(), rest_.end(), absl::ascii_isdigit);
    const auto digits = static_cast<size_t>(end - rest_.begin());
    return absl::SimpleAtoi(rest_.substr(0, digits), &header_.shape.emplace_back()) &&
           absl::ConsumePrefix(&rest_, rest_.substr(0, digits));
  }

  absl::string_view rest_;
  unsigned found_ = 0;
  NpyHeader header_;
};

struct Dtype {
  absl::string_view descr;
  absl::string_view name;
};

constexpr Dtype kDtypes[] = {{"<f4", "F32"}, {"<f8", "F64"}, {"<f2", "F16"}, {"|u1", "U8"},
                             {"<u2", "U16"}, {"<u4", "U32"}, {"<u8", "U64"}, {"|i1", "I8"},
                             {"<i2", "I16"}, {"<i4", "I32"}, {"<i8", "I64"}, {"|b1", "BOOL"}};

absl::string_view DtypeOf(absl::string_view descr) {
  const auto* found = std::find_if(std::begin(kDtypes), std::end(kDtypes),
                                   [&](const Dtype& dtype) { return dtype.descr == descr; });
  return found == std::end(kDtypes) ? "" : found->name;
}

// Why an array of this header cannot be read; empty: it can.
std::string Objection(const NpyHeader& header) {
  if (absl::StartsWith(header.descr, ">")) {
    return absl::StrCat(
        "is of '", absl::CHexEscape(header.descr),
        "', the highest byte first; convert it with astype to the '<' of that name");
  }
  if (DtypeOf(header.descr).empty()) {
    return absl::StrCat("is of '", absl::CHexEscape(header.descr),
                        "'; whole numbers, float and bool can be read");
  }
  if (header.fortran_order) {
    return "is stored column after column; save numpy.ascontiguousarray of it";
  }
  return "";
}

// Takes the dictionary off the front; none: these bytes do not begin with one.
std::optional<absl::string_view> TakeDictionary(absl::string_view* bytes) {
  if (!absl::ConsumePrefix(bytes, kMagic) || bytes->size() < 6) return std::nullopt;
  const auto byte = [&](size_t i) { return size_t{static_cast<uint8_t>((*bytes)[i])}; };
  const size_t version = byte(0);
  if (version < 1 || version > 3) return std::nullopt;
  size_t length = byte(2) | byte(3) << 8;
  if (version > 1) length |= byte(4) << 16 | byte(5) << 24;
  bytes->remove_prefix(version > 1 ? 6 : 4);
  if (length > bytes->size() || length > kMaxNpyHeaderBytes - kMaxPrefixBytes) return std::nullopt;
  const absl::string_view dictionary = bytes->substr(0, length);
  bytes->remove_prefix(length);
  return dictionary;
}

// Takes the header off the front of `bytes`; the array has no bytes yet.
absl::StatusOr<ArrayView> TakeHeader(absl::string_view* bytes, absl::string_view place) {
  const auto refuse = [&](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat(place, ": ", why));
  };
  const auto dictionary = TakeDictionary(bytes);
  if (!dictionary) return refuse("is not a whole array in NumPy's format");
  if (absl::StrContains(*dictionary, "[("))
    return refuse("has named fields; save one array of numbers");
  auto header = DictionaryReader(*dictionary).Read();
  if (!header) return refuse("the header of the array cannot be read");
  if (const std::string why = Objection(*header); !why.empty()) return refuse(why);
  const std::string dtype(DtypeOf(header->descr));
  if (safetensors::TensorBytes(dtype, header->shape)) {
    return ArrayView{std::string(place), dtype, std::move(header->shape), ""};
  }
  return refuse("the shape in its header is too large to be true");
}

}  // namespace

absl::StatusOr<ArrayView> ParseNpy(absl::string_view bytes, absl::string_view place) {
  auto array = TakeHeader(&bytes, place);
  if (!array.ok()) return array;
  return WithBytes(*std::move(array), bytes);
}

absl::StatusOr<uint64_t> NpyFileBytes(absl::string_view beginning, absl::string_view place) {
  absl::string_view rest = beginning;
  const auto array = TakeHeader(&rest, place);
  if (!array.ok()) return array.status();
  return beginning.size() - rest.size() + BytesOf(*array);
}

}  // namespace tandem::data
