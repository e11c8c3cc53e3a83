// What people read when a job file is wrong: bad/NAME.yaml and the exact message in bad/NAME.expected.
// TESSERA_UPDATE_GOLDEN=1 in the environment writes the messages anew; read the difference before you commit it.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/job/job_file.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

fs::path Folder() { return fs::path(TESSERA_SOURCE_DIR) / "tests/unit/job/bad"; }

std::string ReadAll(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(Folder())) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Lines of one that are not in the other, as a person would mark them.
std::string Difference(const std::string& expected, const std::string& got) {
  const std::vector<std::string> want = absl::StrSplit(expected, '\n'), have = absl::StrSplit(got, '\n');
  std::string text;
  for (const std::string& line : want) absl::StrAppend(&text, std::count(have.begin(), have.end(), line) > 0 ? "  " : "- ", line, "\n");
  for (const std::string& line : have) {
    if (std::count(want.begin(), want.end(), line) == 0) absl::StrAppend(&text, "+ ", line, "\n");
  }
  return text;
}

class BadJobTest : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Files, BadJobTest, testing::ValuesIn(Names()), [](const auto& info) { return info.param; });

TEST_P(BadJobTest, IsRefusedWithTheAgreedMessage) {
  const std::string file = GetParam() + ".yaml";
  const auto job = ParseJob(ReadAll(Folder() / file), file, {});
  ASSERT_FALSE(job.ok()) << file << " was accepted";
  EXPECT_EQ(job.status().code(), absl::StatusCode::kInvalidArgument);
  const std::string message = absl::StrCat(job.status().message(), "\n");
  const fs::path golden = Folder() / (GetParam() + ".expected");
  if (std::getenv("TESSERA_UPDATE_GOLDEN") != nullptr) std::ofstream(golden) << message;
  const std::string expected = ReadAll(golden);
  EXPECT_TRUE(message == expected) << Difference(expected, message);
}

TEST(BadJobFilesTest, EveryMessageHasItsFile) {
  EXPECT_GE(Names().size(), 30u);
  for (const auto& entry : fs::directory_iterator(Folder())) {
    EXPECT_TRUE(fs::exists(fs::path(entry.path()).replace_extension(".yaml"))) << entry.path();
  }
}

}  // namespace
}  // namespace tessera
