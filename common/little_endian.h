#pragma once

#include <cstdint>

namespace tandem {

// A number as four or eight bytes, the lowest first, on every machine.
constexpr void StoreLittleEndian32(uint32_t value, char* bytes) {
  for (int i = 0; i < 4; ++i) bytes[i] = static_cast<char>(value >> (8 * i));
}
constexpr uint32_t LoadLittleEndian32(const char* bytes) {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value |= uint32_t{static_cast<uint8_t>(bytes[i])} << (8 * i);
  return value;
}
constexpr void StoreLittleEndian64(uint64_t value, char* bytes) {
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<char>(value >> (8 * i));
}
constexpr uint64_t LoadLittleEndian64(const char* bytes) {
  return LoadLittleEndian32(bytes) | uint64_t{LoadLittleEndian32(bytes + 4)} << 32;
}

}  // namespace tandem
