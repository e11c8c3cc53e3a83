#include "ps/checkpoint/checkpoint_store.h"

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ps/checkpoint/durable_file.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CheckpointStoreTest : public ::testing::Test {
 protected:
  CheckpointStoreTest()
      : root_(fs::path(::testing::TempDir()) / absl::StrCat("checkpoint_store_", getpid(), "_",
                                                            ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  ~CheckpointStoreTest() override { fs::remove_all(root_); }

  std::string directory() const { return root_ + "/checkpoints"; }

  Checkpoint Manifest(uint64_t step, uint64_t incarnation = 1) {
    Checkpoint manifest;
    manifest.set_job("adult");
    manifest.set_step(step);
    manifest.set_incarnation(incarnation);
    return manifest;
  }

  // Saves a checkpoint of one file; returns its folder.
  std::string Save(uint64_t step, uint64_t incarnation = 1) {
    CheckpointStore store(directory());
    const absl::StatusOr<std::string> folder = store.Begin(step, incarnation);
    EXPECT_TRUE(folder.ok()) << folder.status();
    fs::create_directory(*folder + "/" + ShardFolder(0, 1));
    EXPECT_TRUE(WriteFileDurably(*folder + "/" + ShardFolder(0, 1) + "/rows", "123").ok());
    const absl::StatusOr<std::string> saved = store.Commit(*folder, Manifest(step, incarnation));
    EXPECT_TRUE(saved.ok()) << saved.status();
    return *saved;
  }

  std::vector<std::string> Names(const std::vector<CheckpointStore::Entry>& entries) {
    std::vector<std::string> names;
    for (const CheckpointStore::Entry& entry : entries) names.push_back(CheckpointName(entry.folder));
    return names;
  }

  const std::string root_;
};

TEST_F(CheckpointStoreTest, AnEmptyDirectoryHasNoNewest) {
  const CheckpointStore store(directory());
  EXPECT_TRUE(absl::IsNotFound(store.Newest().status()));
  EXPECT_TRUE(store.List().empty());
}

TEST_F(CheckpointStoreTest, ACheckpointIsSeenOnlyOnceItIsCommitted) {
  CheckpointStore store(directory());
  const absl::StatusOr<std::string> folder = store.Begin(120, 1);
  ASSERT_TRUE(folder.ok()) << folder.status();
  EXPECT_EQ(*folder, directory() + "/step-000000000120.unfinished");
  EXPECT_TRUE(fs::is_empty(*folder));
  EXPECT_TRUE(absl::IsNotFound(store.Newest().status()));
  EXPECT_TRUE(store.List().empty());

  const absl::StatusOr<std::string> saved = store.Commit(*folder, Manifest(120));
  ASSERT_TRUE(saved.ok()) << saved.status();
  EXPECT_EQ(*saved, directory() + "/step-000000000120");
  EXPECT_FALSE(fs::exists(*folder));
  const absl::StatusOr<CheckpointStore::Entry> newest = store.Newest();
  ASSERT_TRUE(newest.ok()) << newest.status();
  EXPECT_EQ(newest->folder, *saved);
  EXPECT_EQ(newest->manifest.step(), 120);
  EXPECT_EQ(newest->manifest.format_version(), kCheckpointFormatVersion);
}

TEST_F(CheckpointStoreTest, AFileThatAServerSavedElsewhereStopsTheCommit) {
  CheckpointStore store(directory());
  const std::string folder = *store.Begin(1, 1);
  Checkpoint manifest = Manifest(1);
  manifest.add_files()->set_name("rows");
  manifest.mutable_files(0)->set_bytes(3);
  const absl::Status absent = store.Commit(folder, manifest).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(absent));
  EXPECT_THAT(std::string(absent.message()), AllOf(HasSubstr(folder + "/rows"), HasSubstr("checkpoint.directory")));
  ASSERT_TRUE(WriteFileDurably(folder + "/rows", "12").ok());
  EXPECT_TRUE(absl::IsDataLoss(store.Commit(folder, manifest).status()));
  EXPECT_TRUE(absl::IsNotFound(store.Newest().status()));
  ASSERT_TRUE(WriteFileDurably(folder + "/rows", "123").ok());
  EXPECT_TRUE(store.Commit(folder, manifest).ok());
}

TEST_F(CheckpointStoreTest, BeginSweepsWhatUnfinishedSavesLeft) {
  const std::string kept = Save(1);
  fs::create_directories(directory() + "/step-000000000007.unfinished/shard-0-of-1");
  CheckpointStore store(directory());
  const absl::StatusOr<std::string> folder = store.Begin(8, 1);
  ASSERT_TRUE(folder.ok()) << folder.status();
  EXPECT_FALSE(fs::exists(directory() + "/step-000000000007.unfinished"));
  EXPECT_TRUE(fs::exists(kept));
}

TEST_F(CheckpointStoreTest, ASecondCheckpointOfAStepGetsANameOfItsOwn) {
  Save(5, 1);
  EXPECT_EQ(CheckpointName(Save(5, 2)), "step-000000000005-incarnation-2");
  EXPECT_EQ(CheckpointName(Save(5, 2)), "step-000000000005-incarnation-2-2");
  EXPECT_EQ(CheckpointStore(directory()).Newest()->folder, directory() + "/step-000000000005-incarnation-2-2");
}

TEST_F(CheckpointStoreTest, ListIsInTheOrderOfTheirMaking) {
  Save(10, 1);
  Save(200, 1);
  Save(20, 2);  // went back to step 10
  EXPECT_THAT(Names(CheckpointStore(directory()).List()), ElementsAre("step-000000000010", "step-000000000200", "step-000000000020"));
}

TEST_F(CheckpointStoreTest, PruneKeepsTheNewestTheCurrentAndTheProtected) {
  Save(1);
  const std::string second = Save(2);
  for (uint64_t step = 3; step <= 6; ++step) Save(step);
  CheckpointStore store(directory());
  ASSERT_TRUE(store.Update(second, Manifest(2)).ok());  // CURRENT goes back to 2
  ASSERT_TRUE(store.Prune(2, {"step-000000000004"}).ok());
  EXPECT_THAT(Names(store.List()), ElementsAre("step-000000000002", "step-000000000004", "step-000000000005", "step-000000000006"));
  ASSERT_TRUE(store.Prune(0, {}).ok());
  EXPECT_THAT(Names(store.List()), ElementsAre("step-000000000002"));
}

TEST_F(CheckpointStoreTest, UpdateReplacesTheManifestAndMakesItCurrent) {
  const std::string first = Save(1);
  Save(2);
  CheckpointStore store(directory());
  Checkpoint manifest = Manifest(1);
  manifest.mutable_state()->set_finished(true);
  ASSERT_TRUE(store.Update(first, manifest).ok());
  const absl::StatusOr<CheckpointStore::Entry> newest = store.Newest();
  ASSERT_TRUE(newest.ok()) << newest.status();
  EXPECT_EQ(newest->folder, first);
  EXPECT_TRUE(newest->manifest.state().finished());
}

TEST_F(CheckpointStoreTest, NumbersComeBackToTheBit) {
  Checkpoint manifest = Manifest(~uint64_t{0});
  manifest.mutable_state()->set_epoch_loss(0.1 + 0.2);
  manifest.mutable_state()->mutable_report()->set_train_logloss(std::nextafter(1.0 / 3, 1));
  NumericStatistics* numeric = manifest.mutable_plan()->mutable_schema()->add_columns()->mutable_numeric();
  for (const float edge : {1e-45f, 0.1f, 16777217.0f, 3.4028235e38f}) numeric->add_edges(edge);
  CheckpointStore store(directory());
  const std::string folder = *store.Commit(*store.Begin(1, 1), manifest);
  const absl::StatusOr<CheckpointStore::Entry> entry = CheckpointStore::Read(folder);
  ASSERT_TRUE(entry.ok()) << entry.status();
  manifest.set_format_version(kCheckpointFormatVersion);
  EXPECT_EQ(entry->manifest.SerializeAsString(), manifest.SerializeAsString());
}

TEST_F(CheckpointStoreTest, ANewerFormatIsRefusedByNumber) {
  const std::string folder = Save(1);
  ASSERT_TRUE(WriteFileDurably(folder + "/MANIFEST.json", R"({"format_version": 2, "something_new": {"a": 1}})").ok());
  const absl::Status status = CheckpointStore::Read(folder).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr(folder + "/MANIFEST.json"), HasSubstr("checkpoint format 2"), HasSubstr("up to 1")));
}

TEST_F(CheckpointStoreTest, ADamagedManifestNamesItsFile) {
  const std::string folder = Save(1);
  const std::string path = folder + "/MANIFEST.json";
  for (const char* text : {"", "{\"format_version\": 1, \"step\"", "{}", "[]", "{\"format_version\": 1, \"no_such_field\": 2}"}) {
    ASSERT_TRUE(WriteFileDurably(path, text).ok());
    const absl::Status status = CheckpointStore(directory()).Newest().status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr(path)) << text;
  }
}

TEST_F(CheckpointStoreTest, ACurrentThatNamesNothingIsDamage) {
  const std::string folder = Save(1);
  fs::remove_all(folder);
  const absl::Status status = CheckpointStore(directory()).Newest().status();
  EXPECT_TRUE(absl::IsDataLoss(status));
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("CURRENT"), HasSubstr(folder)));
  ASSERT_TRUE(WriteFileDurably(directory() + "/CURRENT", "../elsewhere\n").ok());
  EXPECT_TRUE(absl::IsDataLoss(CheckpointStore(directory()).Newest().status()));
}

TEST_F(CheckpointStoreTest, FindTakesAFolderADirectoryOrARunFolder) {
  const std::string first = Save(1), second = Save(2);
  for (const std::string& name : {second, second + "/", directory(), root_, root_ + "/", directory() + "@newest", root_ + "@newest"}) {
    const absl::StatusOr<CheckpointStore::Entry> entry = FindCheckpoint(name);
    ASSERT_TRUE(entry.ok()) << name << ": " << entry.status();
    EXPECT_EQ(entry->folder, second) << name;
  }
  EXPECT_EQ(FindCheckpoint(first)->folder, first);
}

TEST_F(CheckpointStoreTest, FindBestIsWhatTheNewestCallsBest) {
  const std::string first = Save(1), second = Save(2);
  const absl::Status none = FindCheckpoint(root_ + "@best").status();
  EXPECT_TRUE(absl::IsNotFound(none));
  EXPECT_THAT(std::string(none.message()), HasSubstr("@newest"));
  Checkpoint manifest = Manifest(2);
  manifest.mutable_state()->set_best_checkpoint("step-000000000001");
  ASSERT_TRUE(CheckpointStore(directory()).Update(second, manifest).ok());
  EXPECT_EQ(FindCheckpoint(root_ + "@best")->folder, first);
  EXPECT_EQ(FindCheckpoint(directory() + "/@best")->folder, first);
}

TEST_F(CheckpointStoreTest, FindSaysWhatItLookedFor) {
  EXPECT_THAT(std::string(FindCheckpoint(root_).status().message()),
              AllOf(HasSubstr(root_ + "/MANIFEST.json"), HasSubstr(root_ + "/CURRENT"), HasSubstr(root_ + "/checkpoints/CURRENT")));
  EXPECT_THAT(std::string(FindCheckpoint(root_ + "/absent").status().message()), HasSubstr("absent: no such folder"));
  EXPECT_TRUE(absl::IsInvalidArgument(FindCheckpoint("").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(FindCheckpoint("@best").status()));
  const std::string one = Save(1);
  EXPECT_THAT(std::string(FindCheckpoint(one + "@best").status().message()), HasSubstr("is one checkpoint"));
}

}  // namespace
}  // namespace tessera
