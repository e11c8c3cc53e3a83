// What is no checkpoint, or not this server's, or damaged, is refused by name.
#include <fstream>

#include "tests/unit/ps_server/restore_fixture.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

TEST_F(RestoreTest, AMissingShardIsNamed) {
  SaveFrom(2);
  fs::remove_all(Shard("shard-1-of-2"));
  const absl::Status status = OpenFrom(1);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("shard-1-of-2 is missing"));
}

TEST_F(RestoreTest, AFolderWithoutShardsIsNoCheckpoint) {
  fs::create_directories(folder("saved"));
  EXPECT_EQ(OpenFrom(1).code(), absl::StatusCode::kNotFound);
  fs::create_directories(Shard("shard-0-of-1"));
  const absl::Status status = OpenFrom(1);
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("shard-0-of-1 is no saved shard: it is empty"));
  fs::remove_all(folder("saved"));
  EXPECT_EQ(OpenFrom(1).code(), absl::StatusCode::kNotFound);
}

TEST_F(RestoreTest, ShardsOfTwoCheckpointsDoNotMix) {
  SaveFrom(2);
  Train(group_.get(), 4, 1, d3_);
  ASSERT_TRUE(group_->Save(folder("later")).ok());
  fs::remove_all(Shard("shard-1-of-2"));
  fs::rename(folder("later/shard-1-of-2"), Shard("shard-1-of-2"));
  const absl::Status status = OpenFrom(2);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("was saved at step 4"));
}

TEST_F(RestoreTest, AnotherTableIsRefusedWithBothSides) {
  SaveFrom(1);
  ServerGroup other(1);
  other.spec().mutable_table()->mutable_segments(1)->set_dim(7);
  const absl::Status status = other.Open(folder("saved"), 2);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("rows of table rows have 4 values, the job's table rows has 8"));
  ServerGroup variable(1);
  variable.spec().mutable_variables(1)->set_shape(0, 9);
  EXPECT_THAT(std::string(variable.Open(folder("saved"), 2).message()), HasSubstr("variable differs"));
}

TEST_F(RestoreTest, ADamagedTableFileIsFound) {
  SaveFrom(1);
  for (const SavedFile& file : files_) {
    if (fs::path(file.name()).extension() != ".sst") continue;
    const std::string path = folder("saved/" + file.name());
    // A copy first: the server's own database links the same file.
    fs::copy_file(path, path + ".copy");
    fs::rename(path + ".copy", path);
    std::fstream stream(path, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(static_cast<std::streamoff>(file.bytes() / 2));
    stream.put('\x5a');
    stream.put('\xa5');
  }
  const absl::Status status = OpenFrom(1);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("shard-0-of-1"));
}

TEST_F(RestoreTest, AfterAFailedOpenTheServerIsClosed) {
  SaveFrom(1);
  EXPECT_FALSE(group_->Open(folder("nowhere"), 7).ok());
  EXPECT_EQ(group_->Pull(4, &d3_, {}).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_TRUE(group_->Open(folder("saved"), 8).ok());
  EXPECT_TRUE(*group_->Pull(4, &d3_, WorldIds()) == state_);
}

TEST_F(RestoreTest, AServerWithoutStateDirectoryCannotSave) {
  ServerGroup group(1);
  ASSERT_TRUE(group.Open().ok());
  EXPECT_EQ(group.Save(folder("saved")).status().code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace tessera
