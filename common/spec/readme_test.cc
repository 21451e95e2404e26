// The README shows a specification; it is the one of examples/.
#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/spec/yaml_reader.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"

namespace tandem::spec {
namespace {

std::string Contents(const std::string& name) {
  std::ifstream file(absl::StrCat(TANDEM_SOURCE_DIR, "/", name));
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(ReadmeTest, ShownSpecification_IsTheExample) {
  const std::string readme = Contents("README.md");
  const std::string fence = "```yaml\n";
  const size_t begin = readme.find(fence) + fence.size();
  const auto shown = ReadYaml(readme.substr(begin, readme.find("```", begin) - begin), "README.md");
  const auto example = ReadYaml(Contents("examples/digits.yaml"), "digits.yaml");
  ASSERT_TRUE(shown.ok()) << shown.status();
  ASSERT_TRUE(example.ok()) << example.status();
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(*shown, *example));
}

}  // namespace
}  // namespace tandem::spec
