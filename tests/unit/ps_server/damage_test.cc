// A stopped server's folder with something wrong in it: whatever it is, it is told with file, row or place, and what was lost is never
// served as if it were whole, nor replaced by something fresh.
#include <fstream>
#include <functional>
#include <map>

#include "absl/strings/match.h"
#include "common/fault_point.h"
#include "tests/unit/ps_server/server_fixture.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

std::string BytesOf(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}
void PutBytes(const fs::path& path, const std::string& bytes) { std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes; }

class DamageTest : public ServerTest {
 protected:
  DamageTest() : pool_(1), group_(std::make_unique<ServerGroup>(1, folder("state"))) {
    group_->UseLog(Durability::process, 4u << 20, 0);
    EXPECT_TRUE(group_->Open().ok());
    server_ = &group_->server(0);
  }

  // 300 of the first `world` ids.
  absl::Status Push(uint64_t sequence, uint64_t world = 3000) {
    PushRequest request;
    *request.mutable_peer() = group_->MakePeer(0, 1);
    request.set_sequence(sequence);
    request.set_optimizer_step(sequence);
    request.set_sparse_learning_rate(0.05);
    request.set_dense_learning_rate(0.01);
    request.set_divisor(10);
    group_->FillGradients(0, group_->RandomShare(0, sequence, 300, world), 0, 1, request.mutable_gradients());
    PushReply reply;
    return server_->Push(request, &reply);
  }
  // Six pushes on disk, two in the log, and the end of the process. The whole folder is kept in kept_.
  void Train() {
    for (uint64_t sequence = 1; sequence <= 8; ++sequence) {
      ASSERT_TRUE(Push(sequence).ok());
      if (sequence % 3 == 0) {
        ASSERT_TRUE(server_->WriteBackAll().ok());
      }
    }
    End();
  }
  void End() {
    wanted_ = *group_->Pull(0, nullptr, WorldIds());
    group_ = std::make_unique<ServerGroup>(1);  // only makes requests from here on
    for (const auto& entry : fs::recursive_directory_iterator(folder("state"))) {
      if (entry.is_regular_file()) kept_[fs::relative(entry.path(), folder("state"))] = BytesOf(entry.path());
    }
  }
  void Mend() {
    started_.reset();
    fs::remove_all(folder("state"));
    for (const auto& [name, bytes] : kept_) {
      fs::create_directories(fs::path(folder("state/" + name)).parent_path());
      PutBytes(folder("state/" + name), bytes);
    }
  }
  // The names of the files that begin and end so; there is at least one.
  std::vector<std::string> Files(const std::string& begin, const std::string& end = "") const {
    std::vector<std::string> names;
    for (const auto& [name, bytes] : kept_) {
      const std::string file = name.substr(std::string("shard-0-of-1/").size());
      if (file.compare(0, begin.size(), begin) == 0 && file.size() >= end.size() &&
          file.compare(file.size() - end.size(), end.size(), end) == 0) {
        names.push_back("state/" + name);
      }
    }
    EXPECT_FALSE(names.empty()) << begin << "..." << end;
    return names;
  }
  // A server on the folder as it is now.
  absl::Status Start() {
    started_.reset();
    ServerOptions options;
    options.job = "test-job";
    options.state_directory = folder("state");
    started_ = std::make_unique<Server>(options, &pool_);
    server_ = started_.get();
    return started_->Recover();
  }
  absl::StatusOr<std::vector<float>> Pull(const std::vector<uint64_t>& ids) {
    PullReply reply;
    if (absl::Status status = server_->Pull(group_->MakePull(0, 0, nullptr, ids), &reply); !status.ok()) return status;
    const auto values = PackedView<float>(reply.values(), "values").value();
    return std::vector<float>(values.begin(), values.end());
  }
  absl::Status Verify() {
    DescribeServerRequest request;
    request.set_verify(true);
    DescribeServerReply reply;
    return server_->DescribeServer(request, &reply);
  }
  absl::StatusOr<StoredRow> Get(uint64_t id) {
    GetRowsRequest request;
    AppendPacked(absl::MakeConstSpan(&id, 1), request.mutable_ids());
    GetRowsReply reply;
    if (absl::Status status = server_->GetRows(request, &reply); !status.ok()) return status;
    return reply.rows(0);
  }

  ThreadPool pool_;
  std::unique_ptr<ServerGroup> group_;
  std::unique_ptr<Server> started_;
  Server* server_;
  PulledState wanted_;
  std::map<std::string, std::string> kept_;
};

TEST_F(DamageTest, AFlippedBitInAnyFileIsToldOrChangesNothing) {
  ASSERT_NO_FATAL_FAILURE(Train());
  RandomSequence random(17);
  std::map<std::string, int> told;
  for (const auto& [name, bytes] : kept_) {
    if (bytes.empty()) continue;
    const std::string extension = fs::path(name).extension();
    // Of the log's two records the first: damage to the last one is a torn end.
    size_t used = bytes.size();
    if (extension == ".log") used = 80 + PackedView<uint64_t>(bytes.substr(64, 8), "body bytes").value()[0];
    for (int i = 0; i < 25; ++i) {
      const size_t at = random.Below(used);
      SCOPED_TRACE(absl::StrCat(name, " byte ", at));
      Mend();
      std::string damaged = bytes;
      damaged[at] ^= static_cast<char>(1 << random.Below(8));
      PutBytes(folder("state/" + name), damaged);
      absl::Status status = Start();
      if (status.ok()) {
        ASSERT_TRUE(started_->is_open()) << "taken for nothing";
        const auto values = Pull(WorldIds());
        status = values.status();
        if (values.ok()) {
          ASSERT_EQ(*values, wanted_.values);
        }
      }
      if (status.ok()) status = Verify();
      if (status.ok()) continue;
      ++told[extension.empty() ? fs::path(name).filename().string().substr(0, 7) : extension];
      ASSERT_TRUE(absl::IsDataLoss(status)) << status;
      // A file that only CURRENT or the manifest names is told with its folder.
      ASSERT_THAT(std::string(status.message()), HasSubstr(fs::path(folder("state/" + name)).parent_path().string()));
      if (extension == ".sst" || extension == ".log") {
        // RocksDB tells of a table file's own description only which manifest names the file.
        ASSERT_THAT(std::string(status.message()), AnyOf(HasSubstr(folder("state/" + name)), HasSubstr("rows/MANIFEST")));
      }
    }
  }
  EXPECT_EQ(told[".log"], 25);
  EXPECT_EQ(told["CURRENT"], 25);
  EXPECT_EQ(told["MANIFES"], 25);
  EXPECT_GE(told[".sst"], 60);  // of several files
}

// Whatever is missing or cut short.
TEST_F(DamageTest, AFileThatIsMissingOrCutShortIsTold) {
  ASSERT_NO_FATAL_FAILURE(Train());
  std::vector<std::string> all = Files("rows/", ".sst");
  for (const std::string& name : Files("rows/MANIFEST")) all.push_back(name);
  all.push_back("state/shard-0-of-1/rows/CURRENT");
  for (const std::string& name : all) {
    for (const double part : {-1.0, 0.0, 0.5, 0.99}) {
      SCOPED_TRACE(absl::StrCat(name, " cut to ", part));
      Mend();
      const std::string bytes = BytesOf(folder(name));
      part < 0 ? (void)fs::remove(folder(name))
               : PutBytes(folder(name), bytes.substr(0, static_cast<size_t>(part * static_cast<double>(bytes.size()))));
      const absl::Status status = Start();
      // Of a manifest the last entry may be about nothing but where rows lie.
      if (status.ok() && part == 0.99) {
        ASSERT_EQ(*Pull(WorldIds()), wanted_.values);
        continue;
      }
      EXPECT_TRUE(absl::IsDataLoss(status)) << status;
      EXPECT_THAT(std::string(status.message()),
                  AllOf(HasSubstr(folder("state/shard-0-of-1/")), HasSubstr(absl::StrCat("Remove ", folder("state/shard-0-of-1"), " to"))));
    }
  }
  for (const std::string gone : {"rows", "log"}) {
    SCOPED_TRACE(gone);
    Mend();
    fs::remove_all(folder("state/shard-0-of-1/" + gone));
    const absl::Status status = Start();
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("state lost"));
  }
  Mend();
  EXPECT_TRUE(Start().ok());
  EXPECT_EQ(*Pull(WorldIds()), wanted_.values);
}

// A manifest that ends early is a whole one of an earlier time: only what stands beside it tells. Here all is on disk and the log is empty.
TEST_F(DamageTest, ADatabaseThatLostItsEndIsNotTakenForAWholeOne) {
  for (uint64_t sequence = 1; sequence <= 8; ++sequence) {
    ASSERT_TRUE(Push(sequence).ok());
    ASSERT_TRUE(server_->WriteBackAll().ok());
  }
  ASSERT_NO_FATAL_FAILURE(End());
  const std::string manifest = Files("rows/MANIFEST").back();
  const size_t whole = BytesOf(folder(manifest)).size();
  int earlier = 0;
  for (size_t cut = 0; cut < whole; cut += 13) {
    SCOPED_TRACE(cut);
    Mend();
    PutBytes(folder(manifest), BytesOf(folder(manifest)).substr(0, cut));
    const absl::Status status = Start();
    if (status.ok()) {  // the last entries may be about nothing but where rows lie
      ASSERT_EQ(*Pull(WorldIds()), wanted_.values);
      continue;
    }
    ASSERT_TRUE(absl::IsDataLoss(status)) << status;
    earlier += absl::StrContains(status.message(), "had held all up to");
  }
  EXPECT_GT(earlier, 5);
}

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
