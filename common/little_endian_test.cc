#include "common/little_endian.h"

#include <string>

#include "gtest/gtest.h"

namespace tandem {
namespace {

TEST(LittleEndian, Store_PutsTheLowestByteFirst) {
  std::string bytes(4, '\0');
  StoreLittleEndian32(0x81020304U, bytes.data());
  EXPECT_EQ(bytes, "\x04\x03\x02\x81");
  bytes.resize(8);
  StoreLittleEndian64(0x8102030405060708U, bytes.data());
  EXPECT_EQ(bytes, "\x08\x07\x06\x05\x04\x03\x02\x81");
}

TEST(LittleEndian, Load_GivesBackWhatWasStored) {
  EXPECT_EQ(LoadLittleEndian32("\xFF\x80\x7F\x81"), 0x817F80FFU);
  EXPECT_EQ(LoadLittleEndian64("\xFF\x80\x7F\x81\x01\x02\x03\x84"), 0x84030201817F80FFU);
}

}  // namespace
}  // namespace tandem
