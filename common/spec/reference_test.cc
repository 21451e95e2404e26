#include "common/spec/reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "common/spec/yaml_reader.h"

namespace tandem::spec {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> YamlBlocks(const std::string& page) {
  std::vector<std::string> blocks;
  const std::string open = "```yaml\n";
  for (size_t begin = page.find(open); begin != std::string::npos; begin = page.find(open, begin)) {
    begin += open.size();
    blocks.push_back(page.substr(begin, page.find("```", begin) - begin));
  }
  return blocks;
}

TEST(Reference, DocsSpecMd_IsUpToDate) {
  std::ifstream file(TANDEM_SOURCE_DIR "/docs/spec.md");
  std::stringstream page;
  page << file.rdbuf();
  EXPECT_EQ(page.str(), ReferenceMarkdown())
      << "docs/spec.md is not what spec.proto says. Print it anew with\n"
      << "    build/bin/tandem explain --markdown > docs/spec.md";
}

TEST(Reference, ExamplesOnThePage_AreValid) {
  const auto blocks = YamlBlocks(ReferenceMarkdown());
  ASSERT_EQ(blocks.size(), 2u);
  for (const std::string& block : blocks) {
    const auto spec = ReadYaml(block, "example.yaml");
    EXPECT_TRUE(spec.ok()) << spec.status();
  }
}

TEST(Reference, Page_HasEveryKey) {
  const std::string page = ReferenceMarkdown();
  for (const KeyReference& key : AllKeys()) {
    EXPECT_THAT(page, HasSubstr("`" + key.key.substr(key.key.rfind('.') + 1) + "`"));
  }
}

TEST(Reference, KeysUnder_OneSection) {
  const auto keys = KeysUnder("optimizer.sgd");
  ASSERT_EQ(keys.size(), 4u);
  EXPECT_TRUE(keys[0].is_section);
  EXPECT_EQ(keys[1].key, "optimizer.sgd.lr");
  EXPECT_EQ(keys[1].default_text, "required");
  EXPECT_EQ(keys[1].limits, "greater than 0");
  EXPECT_TRUE(KeysUnder("optimizer.sg").empty());
}

TEST(Reference, Text_SaysTypeLimitsAndDefault) {
  const std::string text = ReferenceText(KeysUnder("workers"));
  EXPECT_THAT(text, HasSubstr("workers  (whole number or {min, max}, from 1 to 1024; default 1)"));
}

}  // namespace
}  // namespace tandem::spec
