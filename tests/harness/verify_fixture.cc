#include "tests/harness/verify_fixture.h"

#include "absl/time/time.h"
#include "google/protobuf/util/json_util.h"
#include "tests/harness/cluster.h"
#include "tests/harness/process.h"

namespace tandem::testing {

Verified VerifyFixture::Verify(const std::string& spec, const std::vector<std::string>& options) {
  std::vector<std::string> command = {Binary("tandem"), "verify", Source(spec), "-o", "json"};
  command.insert(command.end(), options.begin(), options.end());
  Process verify({command, {}, folder_.path()});
  Verified verified;
  verified.exit_code = verify.Wait(absl::Seconds(170)).value_or(-1);
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(verify.Stdout(), &verified.found).ok())
      << verify.Stdout() << verify.Stderr();
  return verified;
}

}  // namespace tandem::testing
