#include "common/sha256.h"

#include "gtest/gtest.h"

namespace tandem {
namespace {

// FIPS 180-2, appendix B.1.
TEST(Sha256, PublishedExample_SameDigest) {
  Sha256 hash;
  hash.AddBytes("abc", 3);
  EXPECT_EQ(HexOf(hash.Finish()),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Sha256, TextsCutElsewhere_GiveOtherDigests) {
  const auto digest_of = [](const char* first, const char* second) {
    Sha256 hash;
    hash.AddText(first);
    hash.AddText(second);
    return HexOf(hash.Finish());
  };
  EXPECT_NE(digest_of("ab", "c"), digest_of("a", "bc"));
  EXPECT_EQ(digest_of("ab", "c"), digest_of("ab", "c"));
}

}  // namespace
}  // namespace tandem
