// A stopped server's folder with something wrong in it: whatever it is, it is told with file, row or place, and what was lost is never
// served as if it were whole, nor replaced by something fresh.
#include "tests/unit/ps_server/damage_fixture.h"

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

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
  // Too few files for RocksDB to merge them: a manifest that ends before that names files which are gone, and says so by itself.
  for (uint64_t sequence = 1; sequence <= 2; ++sequence) {
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

}  // namespace
}  // namespace tessera
