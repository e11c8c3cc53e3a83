#include "ps/checkpoint/durable_file.h"

#include <unistd.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class DurableFileTest : public ::testing::Test {
 protected:
  DurableFileTest()
      : root_(fs::path(::testing::TempDir()) /
              absl::StrCat("durable_file_", getpid(), "_", ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  ~DurableFileTest() override { fs::remove_all(root_); }

  const std::string root_;
};

TEST_F(DurableFileTest, AllMissingFoldersAreCreatedAndExistingOnesStay) {
  for (const char* name : {"/a/b/c", "/a/b/c", "/a/d/"}) {
    ASSERT_TRUE(CreateDirectoriesDurably(root_ + name).ok());
    EXPECT_TRUE(fs::is_directory(root_ + name));
    ASSERT_TRUE(WriteFileDurably(root_ + "/a/b/file", "1").ok());
  }
  EXPECT_TRUE(FileExists(root_ + "/a/b/file"));
}

TEST_F(DurableFileTest, AFileInTheWayOfAFolderIsNamed) {
  ASSERT_TRUE(WriteFileDurably(root_ + "/file", "1").ok());
  for (const char* name : {"/file", "/file/below"}) {
    EXPECT_THAT(std::string(CreateDirectoriesDurably(root_ + name).message()), HasSubstr(root_ + name + ": cannot create folder"));
  }
}

TEST_F(DurableFileTest, ALinkToNowhereDoesNotKeepATreeFromBeingSynced) {
  fs::create_symlink("nowhere", root_ + "/link");
  EXPECT_TRUE(SyncTree(root_).ok());
}

}  // namespace
}  // namespace tessera
