#include "common/little_endian.h"

#include <string>

#include "gtest/gtest.h"

namespace tandem {
namespace {

TEST(LittleEndian, Store_PutsTheLowestByteFirst) {
  std::string bytes(4, '\0');
  StoreLittleEndian32(0x81020304U, bytes.data());
  EXPECT_EQ(bytes, "\x04\x03\x02\x81");
}

TEST(LittleEndian, Load_GivesBackWhatWasStored) {
  EXPECT_EQ(LoadLittleEndian32("\xFF\x80\x7F\x81"), 0x817F80FFU);
}

}  // namespace
}  // namespace tandem
