// What a save holds, and what comes back from it on any number of servers.
#include <fstream>

#include "tests/unit/ps_server/restore_fixture.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

TEST_F(RestoreTest, AnyNumberOfServersGoesOnAsIfNothingHadHappened) {
  SaveFrom(2);
  Decision d5 = Train(group_.get(), 4, 2, d3_);
  const PulledState later = *group_->Pull(6, &d5, WorldIds());
  for (uint32_t shards : {1u, 2u, 3u}) {
    ASSERT_TRUE(OpenFrom(shards).ok());
    EXPECT_EQ(restored_->opened_step(), 3u);
    EXPECT_EQ(restored_->opened_rows(), saved_rows_);
    EXPECT_TRUE(*restored_->Pull(4, &d3_, WorldIds()) == state_) << shards << " servers";
    Train(restored_.get(), 4, 2, d3_);
    EXPECT_TRUE(*restored_->Pull(6, &d5, WorldIds()) == later) << shards << " servers";
  }
}

TEST_F(RestoreTest, ASaveListsItsFilesWithSizeAndChecksum) {
  SaveFrom(2);
  ASSERT_FALSE(files_.empty());
  std::vector<std::string> listed;
  for (const SavedFile& file : files_) {
    listed.push_back(file.name());
    EXPECT_EQ(file.bytes(), fs::file_size(folder("saved/" + file.name())));
    EXPECT_THAT(file.checksum(), ::testing::MatchesRegex("[0-9a-f]{16}"));
  }
  std::vector<std::string> there;
  for (const auto& entry : fs::recursive_directory_iterator(folder("saved"))) {
    if (entry.is_regular_file() && entry.path().filename() != "SAVED") there.push_back(fs::relative(entry.path(), folder("saved")).string());
  }
  EXPECT_THAT(listed, ::testing::UnorderedElementsAreArray(there));
}

TEST_F(RestoreTest, ASaveThatComesAgainChangesNoFileAndOneThatComesTooLateIsRefused) {
  SaveFrom(1);
  SaveRequest request;
  *request.mutable_peer() = group_->MakePeer(0);
  request.set_directory(folder("twice.unfinished/shard-0-of-1"));
  fs::create_directories(folder("twice.unfinished"));
  SaveReply first, again;
  ASSERT_TRUE(group_->server(0).Save(request, &first).ok());
  ASSERT_TRUE(group_->server(0).Save(request, &again).ok());
  EXPECT_EQ(first.SerializeAsString(), again.SerializeAsString());
  for (const SavedFile& file : first.files()) {
    EXPECT_EQ(file.bytes(), fs::file_size(folder("twice.unfinished/" + file.name()))) << file.name();
  }
  Train(group_.get(), 4, 1, d3_);
  ASSERT_TRUE(group_->server(0).Save(request, &again).ok()) << "another state takes its place";
  EXPECT_NE(first.content_digest(), again.content_digest());
  fs::rename(folder("twice.unfinished"), folder("twice"));
  const absl::Status late = group_->server(0).Save(request, &again);
  EXPECT_EQ(late.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(late.message()), HasSubstr("before this call came"));
  EXPECT_FALSE(fs::exists(folder("twice.unfinished")));
}

TEST_F(RestoreTest, APushThatOnlyOneServerHasIsNoDamage) {
  group_ = std::make_unique<ServerGroup>(2, folder("state"));
  ASSERT_TRUE(group_->Open().ok());
  const ShareGradients share = group_->RandomShare(0, 1, 60);
  PushReply reply;
  for (uint32_t shard : {0u, 1u}) {
    ASSERT_TRUE(group_->server(shard).Push(MakePush(*group_, shard, group_->MakePeer(shard), 1, share), &reply).ok());
  }
  // Its worker was killed before the other server had it; its rows are trained again by another, at an earlier step.
  PushRequest torn = MakePush(*group_, 1, group_->MakePeer(1), 2, share);
  torn.set_optimizer_step(9);
  ASSERT_TRUE(group_->server(1).Push(torn, &reply).ok());
  ASSERT_TRUE(group_->Save(folder("saved")).ok());
  for (uint32_t shards : {1u, 2u, 3u}) {
    const absl::Status opened = OpenFrom(shards);
    EXPECT_TRUE(opened.ok()) << opened;
    EXPECT_EQ(restored_->Describe(0).step(), 9u);
  }
}

TEST_F(RestoreTest, AServerThatLostWhatItHadSavedReplacesNoFile) {
  const auto start = [&] {
    group_ = std::make_unique<ServerGroup>(1, folder("state"));
    group_->UseLog(Durability::process, 16u << 20, 0);
  };
  start();
  ASSERT_TRUE(group_->Open().ok());
  const Decision d2 = Train(group_.get(), 1, 2, Start());
  group_.reset();
  fs::copy(folder("state"), folder("backup"), fs::copy_options::recursive);
  start();
  ASSERT_TRUE(group_->CrashAndRecover(0).ok());
  Train(group_.get(), 3, 1, d2);
  SaveRequest request;
  *request.mutable_peer() = group_->MakePeer(0);
  request.set_directory(folder("kept.unfinished/shard-0-of-1"));
  fs::create_directories(folder("kept.unfinished"));
  SaveReply saved, again;
  ASSERT_TRUE(group_->server(0).Save(request, &saved).ok());
  group_.reset();
  fs::remove_all(folder("state"));
  fs::rename(folder("backup"), folder("state"));
  start();
  ASSERT_TRUE(group_->CrashAndRecover(0).ok());
  const absl::Status late = group_->server(0).Save(request, &again);
  EXPECT_TRUE(absl::IsDataLoss(late)) << late;
  EXPECT_THAT(std::string(late.message()), HasSubstr("state lost: this server has saved record"));
  for (const SavedFile& file : saved.files()) {
    EXPECT_EQ(file.bytes(), fs::file_size(folder("kept.unfinished/" + file.name()))) << file.name();
  }
}

TEST_F(RestoreTest, ALaterSaveWritesOnlyWhatChangedAndTheEarlierStays) {
  SaveFrom(1);
  const auto again = group_->Save(folder("again"));  // nothing changed
  ASSERT_TRUE(again.ok());
  uint64_t first_bytes = 0, new_bytes = 0;
  for (const SavedFile& file : files_) first_bytes += file.bytes();
  for (const SavedFile& file : *again) {
    const auto known = std::find_if(files_.begin(), files_.end(), [&](const SavedFile& f) { return f.name() == file.name(); });
    if (known != files_.end() && known->checksum() == file.checksum()) continue;
    new_bytes += file.bytes();
  }
  EXPECT_GT(first_bytes, 20000u);
  EXPECT_LT(new_bytes, first_bytes / 2);  // the meta and RocksDB's own small files
  const Decision d4 = Train(group_.get(), 4, 1, d3_);
  ASSERT_TRUE(group_->Save(folder("later")).ok());
  ASSERT_TRUE(OpenFrom(1).ok());
  EXPECT_TRUE(*restored_->Pull(4, &d3_, WorldIds()) == state_);
  ServerGroup later(3);
  ASSERT_TRUE(later.Open(folder("later"), 2).ok());
  EXPECT_TRUE(*later.Pull(5, &d4, WorldIds()) == *group_->Pull(5, &d4, WorldIds()));
}

TEST_F(RestoreTest, ARestoredServerSavesEverythingAgain) {
  SaveFrom(2);
  ServerGroup restored(1, folder("state2"));
  ASSERT_TRUE(restored.Open(folder("saved"), 2).ok());
  ASSERT_TRUE(restored.Save(folder("resaved")).ok());
  ServerGroup third(2);
  ASSERT_TRUE(third.Open(folder("resaved"), 3).ok());
  EXPECT_TRUE(*third.Pull(4, &d3_, WorldIds()) == state_);
}

TEST_F(RestoreTest, EqualStatesHaveOneDigestHoweverTheyAreSpreadAndSaved) {
  SaveFrom(2);
  const uint64_t digest = group_->digest();
  EXPECT_NE(digest, 0u);
  ASSERT_TRUE(group_->Save(folder("again")).ok());
  EXPECT_EQ(group_->digest(), digest);
  ServerGroup restored(3, folder("state2"));
  ASSERT_TRUE(restored.Open(folder("saved"), 2).ok());
  ASSERT_TRUE(restored.Save(folder("resaved")).ok());
  EXPECT_EQ(restored.digest(), digest);
  Train(group_.get(), 4, 1, d3_);
  Train(&restored, 4, 1, d3_);
  ASSERT_TRUE(group_->Save(folder("later")).ok());
  ASSERT_TRUE(restored.Save(folder("later3")).ok());
  EXPECT_NE(group_->digest(), digest);
  EXPECT_EQ(restored.digest(), group_->digest());
}

TEST_F(RestoreTest, ASaveMayBeRepeatedButNeverReplacesOtherFiles) {
  SaveFrom(1);
  EXPECT_TRUE(group_->Save(folder("saved")).ok());
  fs::create_directories(folder("other/shard-0-of-1"));
  std::ofstream(folder("other/shard-0-of-1/thesis.txt")) << "keep me";
  const absl::Status status = group_->Save(folder("other")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("it holds thesis.txt"));
  EXPECT_TRUE(fs::exists(folder("other/shard-0-of-1/thesis.txt")));
  // A save that failed does not spoil the next one.
  ASSERT_TRUE(group_->Save(folder("next")).ok());
  ServerGroup restored(2);
  ASSERT_TRUE(restored.Open(folder("next"), 2).ok());
  EXPECT_TRUE(*restored.Pull(4, &d3_, WorldIds()) == state_);
}

TEST_F(RestoreTest, OnlyTheShardsFolderInAnUnfinishedCheckpointIsReplaced) {
  SaveFrom(1);
  EXPECT_EQ(group_->SaveInto(folder("saved")).status().code(), absl::StatusCode::kInvalidArgument);
  for (const char* name : {"saved", "x.unfinished", "x.unfinished/shard-1-of-2", "saved/shard-0-of-1", "x.unfinished/../shard-0-of-1"}) {
    SaveRequest request;
    *request.mutable_peer() = group_->MakePeer(0);
    request.set_directory(folder(name));
    SaveReply reply;
    const absl::Status status = group_->server(0).Save(request, &reply);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr("shard-0-of-1 in an unfinished checkpoint"));
  }
  EXPECT_TRUE(OpenFrom(1).ok());
}

}  // namespace
}  // namespace tessera
