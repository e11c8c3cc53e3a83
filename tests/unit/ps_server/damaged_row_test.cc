// A damaged row, and an opening that broke off: nothing is served in place of what was lost.
#include "tests/unit/ps_server/damage_fixture.h"

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST_F(DamageTest, ADamagedRowIsRefusedToAllWhoNeedItAndTheOthersAreServed) {
  for (uint64_t sequence = 1; sequence <= 6; ++sequence) ASSERT_TRUE(Push(sequence).ok());
  ASSERT_TRUE(server_->WriteBackAll().ok());
  const uint64_t id = group_->RandomShare(0, 1, 300).ids[7];
  const std::string value = [&] {
    const StoredRow row = *Get(id);
    EXPECT_TRUE(row.found());
    return std::string(reinterpret_cast<const char*>(row.values().data()), kDim * sizeof(float));
  }();
  ASSERT_NO_FATAL_FAILURE(End());
  // Its floats stand in a table file as they are.
  std::string file;
  for (const std::string& name : Files("rows/", ".sst")) {
    std::string bytes = BytesOf(folder(name));
    for (size_t at = bytes.find(value); at != std::string::npos; at = bytes.find(value, at + 1)) {
      bytes[at + 2] ^= 1;
      file = name;
    }
    PutBytes(folder(name), bytes);
  }
  ASSERT_FALSE(file.empty());
  const auto expect_told = [&](const absl::Status& status) {
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("of table rows"), HasSubstr(folder(file)), HasSubstr("offset")));
  };
  for (int start = 0; start < 2; ++start) {
    ASSERT_TRUE(Start().ok()) << "a start reads no rows";
    expect_told(Get(id).status());
    EXPECT_THAT(std::string(Get(id).status().message()), HasSubstr(absl::StrCat("row ", id, " of table rows")));
    expect_told(Pull({id}).status());
    expect_told(Pull(WorldIds()).status());
    PullRequest evaluation = group_->MakePull(0, 0, nullptr, {id});
    evaluation.set_evaluation(true);
    PullReply reply;
    expect_told(server_->Pull(evaluation, &reply));
    // An update of it is refused as a whole: nothing is logged, no row changes, and the same push may come again.
    const uint64_t lsn = [&] {
      DescribeServerReply described;
      EXPECT_TRUE(server_->DescribeServer(DescribeServerRequest(), &described).ok());
      return described.durability().lsn();
    }();
    for (int i = 0; i < 2; ++i) {
      PushRequest push;
      *push.mutable_peer() = group_->MakePeer(0, 1);
      push.set_sequence(7);
      push.set_optimizer_step(7);
      push.set_divisor(1);
      group_->FillGradients(0, group_->RandomShare(0, 1, 300), 0, 1, push.mutable_gradients());
      PushReply pushed;
      expect_told(server_->Push(push, &pushed));
    }
    DescribeServerReply described;
    EXPECT_TRUE(server_->DescribeServer(DescribeServerRequest(), &described).ok());
    EXPECT_EQ(described.durability().lsn(), lsn);
    const absl::Status verified = Verify();
    EXPECT_TRUE(absl::IsDataLoss(verified)) << verified;
    EXPECT_THAT(std::string(verified.message()), AllOf(HasSubstr(folder(file)), HasSubstr("offset")));
    // Nor does it get into a checkpoint, where it would take the place of a sound one.
    SaveRequest save;
    *save.mutable_peer() = group_->MakePeer(0);
    save.set_directory(folder("saved.unfinished/shard-0-of-1"));
    std::filesystem::create_directories(folder("saved.unfinished"));
    SaveReply saved;
    const absl::Status refused = server_->Save(save, &saved);
    EXPECT_TRUE(absl::IsDataLoss(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()), HasSubstr(folder(file)));
    // Rows of other blocks.
    int served = 0;
    const std::vector<uint64_t> ids = WorldIds();
    for (size_t i = 0; i < ids.size(); i += 10) {
      const auto values = Pull({ids[i]});
      if (!values.ok()) continue;
      ++served;
      EXPECT_EQ(*values, std::vector<float>(wanted_.values.begin() + static_cast<long>(i * kDim),
                                            wanted_.values.begin() + static_cast<long>((i + 1) * kDim)));
    }
    EXPECT_GT(served, 200);
    // Unless the database has come across it meanwhile, when it merged files.
    const absl::Status written = server_->WriteBackAll();
    EXPECT_TRUE(written.ok() || absl::StrContains(written.message(), folder(file))) << written;
  }
}

// While a server is opened, anew or over what was there, its process may end at any point: the next start finds nothing to go on from, and
// the next opening works.
TEST_F(DamageTest, AnOpeningThatBrokeOffIsNothingToGoOnFrom) {
  ASSERT_NO_FATAL_FAILURE(Train());
  for (const Durability durability : {Durability::process, Durability::checkpoint}) {
    SCOPED_TRACE(Durability_Name(durability));
    Mend();
    ASSERT_TRUE(Start().ok());
    int points = 0;
    SetFaultPoint([&](absl::string_view point) {
      if (point == "shorten.kept") return;  // then it is complete
      fs::copy(folder("state"), folder(absl::StrCat("broken", ++points)), fs::copy_options::recursive);
    });
    group_->UseLog(durability, 4u << 20, 0);
    OpenRequest open = group_->spec();
    *open.mutable_peer() = group_->MakePeer(0);
    open.mutable_peer()->set_incarnation(2);
    OpenReply opened;
    const absl::Status status = server_->Open(open, &opened);
    SetFaultPoint({});
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_GE(points, durability == Durability::process ? 3 : 1);
    started_.reset();
    for (int i = 1; i <= points; ++i) {
      SCOPED_TRACE(i);
      fs::remove_all(folder("state"));
      fs::rename(folder(absl::StrCat("broken", i)), folder("state"));
      const absl::Status start = Start();
      EXPECT_TRUE(start.ok()) << start;
      EXPECT_FALSE(started_->is_open());
      const absl::Status again = started_->Open(open, &opened);
      EXPECT_TRUE(again.ok()) << again;
      EXPECT_EQ(opened.rows(), 0u);
    }
  }
}

}  // namespace
}  // namespace tessera
