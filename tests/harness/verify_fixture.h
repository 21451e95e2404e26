#pragma once

#include <string>
#include <vector>

#include "common/temporary_folder.h"
#include "gtest/gtest.h"
#include "tandem/v1/verify.pb.h"

namespace tandem::testing {

struct Verified {
  // -1 where it did not end in time.
  int exit_code = -1;
  v1::Verification found;
};

// Runs `tandem verify`, which starts what it needs, in a temporary folder.
class VerifyFixture : public ::testing::Test {
 protected:
  // `spec` is a path in the source tree.
  Verified Verify(const std::string& spec, const std::vector<std::string>& options);

  const TemporaryFolder folder_ = *TemporaryFolder::Create("tandem-e2e");
};

}  // namespace tandem::testing
