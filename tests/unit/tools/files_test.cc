#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ps/state_lock.h"
#include "tools/child_process.h"
#include "tools/job_folders.h"
#include "tools/output_file.h"
#include "tools/temporary_folder.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::string Contents(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

size_t Entries(const std::string& folder) { return std::distance(fs::directory_iterator(folder), fs::directory_iterator()); }

class FilesTest : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return absl::StrCat(folder_.path(), "/", name); }
  TemporaryFolder folder_ = *TemporaryFolder::Create();
};

TEST_F(FilesTest, ATemporaryFolderIsGoneWithItsOwner) {
  std::string path;
  {
    TemporaryFolder folder = *TemporaryFolder::Create();
    path = folder.path();
    std::ofstream(path + "/x") << "x";
    EXPECT_TRUE(fs::exists(path));
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(FilesTest, AnOutputFileAppearsWhole) {
  OutputFile file = *OutputFile::Create(Path("out"));
  ASSERT_TRUE(file.Write("one\n").ok());
  EXPECT_FALSE(fs::exists(Path("out")));
  ASSERT_TRUE(file.Write("two\n").ok());
  ASSERT_TRUE(file.Commit().ok());
  EXPECT_EQ(Contents(Path("out")), "one\ntwo\n");
  EXPECT_EQ(Entries(folder_.path()), 1u);
}

TEST_F(FilesTest, AnOutputFileWithoutCommitLeavesTheOldOneAndNothingElse) {
  std::ofstream(Path("out")) << "old";
  {
    OutputFile file = *OutputFile::Create(Path("out"));
    ASSERT_TRUE(file.Write("new").ok());
  }
  EXPECT_EQ(Contents(Path("out")), "old");
  EXPECT_EQ(Entries(folder_.path()), 1u);
}

TEST_F(FilesTest, AnOutputFileThatCannotBeIsNamed) {
  EXPECT_THAT(std::string(OutputFile::Create(Path("no/such/out")).status().message()), HasSubstr("no/such/out"));
}

TEST_F(FilesTest, AnOutputThatIsNoFileIsWrittenToAndStaysWhatItIs) {
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  const int reader = open(Path("pipe").c_str(), O_RDWR);
  ASSERT_GE(reader, 0);
  {
    OutputFile file = *OutputFile::Create(Path("pipe"));
    ASSERT_TRUE(file.Write("one\n").ok());
    ASSERT_TRUE(file.Commit().ok());
  }
  char text[16];
  EXPECT_EQ(read(reader, text, sizeof text), 4);
  close(reader);
  EXPECT_TRUE(fs::is_fifo(Path("pipe")));
  EXPECT_EQ(Entries(folder_.path()), 1u);
}

TEST_F(FilesTest, ALockNamesItsOwnerToTheNextOne) {
  const absl::StatusOr<StateLock> first = StateLock::Acquire(Path("state"), "tessera train a.yaml");
  ASSERT_TRUE(first.ok());
  const absl::Status second = StateLock::Acquire(Path("state"), "another").status();
  EXPECT_EQ(second.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(second.message()), HasSubstr(absl::StrCat("tessera train a.yaml (process ", getpid())));
}

TEST_F(FilesTest, ALockEndsWithItsHolder) {
  { ASSERT_TRUE(StateLock::Acquire(Path("state"), "first").ok()); }
  EXPECT_TRUE(StateLock::Acquire(Path("state"), "second").ok());
}

TEST_F(FilesTest, FreshMovesStateAndCheckpointsAside) {
  const JobFolders folders{Path("state"), Path("checkpoints")};
  fs::create_directories(folders.checkpoints);
  std::ofstream(folders.checkpoints + "/CURRENT") << "x";
  FakeClock clock;
  std::vector<std::string> moved;
  {
    const absl::StatusOr<StateLock> kept = TakeFolders(folders, "test", false, &clock, &moved);
    ASSERT_TRUE(kept.ok());
    EXPECT_TRUE(moved.empty());
    // Held by another one: nothing is moved under its feet.
    EXPECT_FALSE(TakeFolders(folders, "test", true, &clock, &moved).ok());
    EXPECT_TRUE(moved.empty());
  }
  ASSERT_TRUE(TakeFolders(folders, "test", true, &clock, &moved).ok());
  ASSERT_EQ(moved.size(), 2u);
  EXPECT_EQ(Contents(moved[0] + "/CURRENT"), "x");
  EXPECT_FALSE(fs::exists(folders.checkpoints));
  EXPECT_TRUE(fs::exists(folders.state));
}

TEST_F(FilesTest, FreshTwiceInOneSecondKeepsBoth) {
  const JobFolders folders{Path("state"), Path("checkpoints")};
  FakeClock clock;
  std::vector<std::string> moved;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(TakeFolders(folders, "test", true, &clock, &moved).ok());
  for (const std::string& path : moved) EXPECT_TRUE(fs::exists(path)) << path;
  EXPECT_EQ(moved.size(), 3u);
}

TEST_F(FilesTest, LastLinesAreTheEndOfAFile) {
  std::ofstream(Path("log")) << "1\n2\n3\n4";
  EXPECT_EQ(LastLines(Path("log"), 2), "3\n4");
  EXPECT_EQ(LastLines(Path("log"), 9), "1\n2\n3\n4");
  EXPECT_EQ(LastLines(Path("none"), 2), "");
}

void AwaitEnd(ChildProcess* child) {
  const absl::Time deadline = Clock::Real()->Now() + absl::Seconds(60);
  while (child->Running() && Clock::Real()->Now() < deadline) std::this_thread::yield();
  ASSERT_FALSE(child->Running());
}

TEST_F(FilesTest, AChildWritesItsLogAndTellsHowItEnded) {
  ChildProcess child = *ChildProcess::Start("a shell", {"/bin/sh", "-c", "echo out; echo err >&2; exit 3"}, Path("log"));
  AwaitEnd(&child);
  EXPECT_FALSE(child.succeeded());
  EXPECT_EQ(child.HowItEnded(), "exit code 3");
  EXPECT_EQ(Contents(Path("log")), "out\nerr\n");
}

TEST_F(FilesTest, AChildIsKilledWithItsOwner) {
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  std::ifstream pipe;
  {
    ChildProcess child = *ChildProcess::Start("a sleeper", {"/bin/sh", "-c", "exec sleep 1000 > " + Path("pipe")}, Path("log"));
    pipe.open(Path("pipe"));  // once the child has opened its end
    EXPECT_TRUE(child.Running());
  }
  // A pipe ends when its last writer does.
  char c;
  EXPECT_FALSE(pipe.get(c));
}

TEST_F(FilesTest, AProgramThatIsNotThereIsNamed) {
  EXPECT_THAT(std::string(ChildProcess::Start("x", {"/no/such/program"}, Path("log")).status().message()), HasSubstr("/no/such/program"));
}

}  // namespace
}  // namespace tessera
