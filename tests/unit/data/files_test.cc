#include "worker/data/files.h"

#include "tests/unit/data/test_input.h"

namespace tessera {
namespace {

class FilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"day_1", "day_2", "day_10", "day_23", "other", "nested/day_3"}) folder_.Write(name, "x");
    std::filesystem::create_directory(folder_.Path("day_dir"));
  }
  std::vector<std::string> Names(const std::vector<std::string>& patterns, const std::vector<std::string>& exclude = {}) {
    const auto files = ExpandFiles(Under(patterns), Under(exclude));
    EXPECT_TRUE(files.ok()) << files.status();
    std::vector<std::string> names;
    for (const std::string& path : *files) names.push_back(path.substr(folder_.Path("").size()));
    return names;
  }
  std::string Error(const std::vector<std::string>& patterns, const std::vector<std::string>& exclude = {}) {
    std::string message(ExpandFiles(Under(patterns), Under(exclude)).status().message());
    for (size_t at = message.find(folder_.Path("")); at != std::string::npos; at = message.find(folder_.Path(""))) {
      message.erase(at, folder_.Path("").size());
    }
    return message;
  }
  std::vector<std::string> Under(std::vector<std::string> names) {
    for (std::string& name : names) name = folder_.Path(name);
    return names;
  }
  TestFolder folder_;
};

using Names_ = std::vector<std::string>;

TEST_F(FilesTest, GlobsComeInNaturalOrder) {
  EXPECT_EQ(Names({"day_*"}), (Names_{"day_1", "day_2", "day_10", "day_23"}));
  EXPECT_EQ(Names({"*/day_?"}), (Names_{"nested/day_3"}));
  EXPECT_EQ(Names({"day_[12]"}), (Names_{"day_1", "day_2"}));
}

TEST_F(FilesTest, PatternsKeepTheirOrderAndAFileComesOnce) {
  EXPECT_EQ(Names({"other", "day_2", "day_*", "./other"}), (Names_{"other", "day_2", "day_1", "day_10", "day_23"}));
}

TEST_F(FilesTest, ExcludedFilesAreLeftOut) {
  EXPECT_EQ(Names({"day_*"}, {"day_2*"}), (Names_{"day_1", "day_10"}));
  EXPECT_EQ(Names({"day_*"}, {"./day_10"}), (Names_{"day_1", "day_2", "day_23"}));
}

TEST_F(FilesTest, APatternThatNamesNothingIsAnError) {
  EXPECT_EQ(Error({"day_1", "week_*"}), "week_*: matches no file; check the path and the spelling");
  EXPECT_EQ(Error({"day_3"}), "day_3: No such file or directory");
  EXPECT_EQ(Error({"day_dir"}), "day_dir: is a directory, not a file; name its files, for example day_dir/*");
  EXPECT_EQ(Error({"day_d*"}), "day_d*: matches no file; check the path and the spelling");
  EXPECT_EQ(Error({"day_*"}, {"day_5"}), "day_5: this exclude pattern matches none of the files");
  EXPECT_EQ(Error({"day_*"}, {"*"}), "every file is excluded: nothing is left to read");
}

TEST_F(FilesTest, ANameWithGlobCharactersIsAName) {
  folder_.Write("a[1].csv", "x");
  EXPECT_EQ(Names({"a[1].csv"}), (Names_{"a[1].csv"}));
}

TEST_F(FilesTest, ABackslashMakesAGlobCharacterAnOrdinaryOne) {
  for (const char* name : {"[new]*/a1.csv", "[new]*/a[1].csv", "n/a2.csv"}) folder_.Write(name, "x");
  EXPECT_EQ(Names({"\\[new\\]\\*/a?.csv"}), (Names_{"[new]*/a1.csv"}));
  EXPECT_EQ(Names({"\\[new\\]\\*/a[1].csv"}), (Names_{"[new]*/a[1].csv"}));
  EXPECT_EQ(Names({"*/a*"}, {"\\[new\\]\\*/a[1].csv"}), (Names_{"n/a2.csv"}));
}

TEST(NaturalLessTest, ComparesRunsOfDigitsAsNumbers) {
  EXPECT_TRUE(NaturalLess("day_2.gz", "day_10.gz"));
  EXPECT_FALSE(NaturalLess("day_10.gz", "day_2.gz"));
  EXPECT_TRUE(NaturalLess("2024-9-30", "2024-10-1"));
  EXPECT_TRUE(NaturalLess("a", "a1"));
  EXPECT_TRUE(NaturalLess("a9", "b1"));
  EXPECT_TRUE(NaturalLess("x99999999999999999999998", "x99999999999999999999999"));
  EXPECT_FALSE(NaturalLess("day_2", "day_2"));
  EXPECT_NE(NaturalLess("day_02", "day_2"), NaturalLess("day_2", "day_02"));
  EXPECT_TRUE(NaturalLess("day_02", "day_3"));
}

}  // namespace
}  // namespace tessera
