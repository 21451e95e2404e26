#include "worker/data/number_reader.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>

namespace tandem::data {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are copied as they are");

template <typename T>
T Load(const char* element) {
  T value;
  std::memcpy(&value, element, sizeof(value));
  return value;
}

template <typename T>
double Read(const char* element) {
  return static_cast<double>(Load<T>(element));
}

double ReadBool(const char* element) { return *element != 0 ? 1 : 0; }

// IEEE 754 binary16: a sign, 5 bits of exponent, 10 of fraction.
double ReadHalf(const char* element) {
  const auto bits = Load<uint16_t>(element);
  const int exponent = (bits >> 10) & 0x1F, fraction = bits & 0x3FF;
  double value = std::ldexp(fraction + 1024, exponent - 25);
  if (exponent == 0) value = std::ldexp(fraction, -24);
  if (exponent == 0x1F) {
    value = fraction == 0 ? std::numeric_limits<double>::infinity()
                          : std::numeric_limits<double>::quiet_NaN();
  }
  return (bits & 0x8000) != 0 ? -value : value;
}

// The upper half of a float.
double ReadBfloat(const char* element) {
  return std::bit_cast<float>(uint32_t{Load<uint16_t>(element)} << 16);
}

struct Entry {
  absl::string_view dtype;
  NumberReader reader;
};

constexpr Entry kReaders[] = {
    {"F32", Read<float>},    {"F64", Read<double>},   {"F16", ReadHalf},
    {"BF16", ReadBfloat},    {"U8", Read<uint8_t>},   {"U16", Read<uint16_t>},
    {"U32", Read<uint32_t>}, {"U64", Read<uint64_t>}, {"I8", Read<int8_t>},
    {"I16", Read<int16_t>},  {"I32", Read<int32_t>},  {"I64", Read<int64_t>},
    {"BOOL", ReadBool},
};

}  // namespace

NumberReader ReaderOf(absl::string_view dtype) {
  const auto* found = std::find_if(std::begin(kReaders), std::end(kReaders),
                                   [&](const Entry& entry) { return entry.dtype == dtype; });
  return found == std::end(kReaders) ? nullptr : found->reader;
}

}  // namespace tandem::data
