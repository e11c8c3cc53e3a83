// Every row is in exactly one block, wherever the cuts fall.
#include <algorithm>

#include "tests/unit/data/test_input.h"

namespace tessera {
namespace {

constexpr std::string_view kRows = "clk,city,price\n1,Rome,3\n0,,17\n\n1,\"a,b\",-2\n0,Oslo,0.5\n";

Plan SmallPlan(uint64_t block_bytes) {
  Plan plan = CsvPlan({"clk", "city", "price"}, "clk", {"price"});
  plan.mutable_job()->mutable_data()->mutable_block_bytes()->set_bytes(block_bytes);
  return plan;
}

std::string WithCrlf(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') out += '\r';
    out += c;
  }
  return out;
}

void ExpectEqual(const Rows& a, const Rows& b) {
  EXPECT_EQ(a.ids, b.ids);
  EXPECT_EQ(a.labels, b.labels);
  EXPECT_EQ(a.scales, b.scales);
  EXPECT_EQ(a.dense, b.dense);
}

// Block sizes 1 .. 200 cut on each line end, one byte behind each, and inside each cell.
TEST(BlockCutTest, EveryBlockSizeGivesEachRowOnce) {
  TestFolder folder;
  for (const std::string& text : {std::string(kRows), WithCrlf(kRows), std::string(kRows.substr(0, kRows.size() - 1))}) {
    const std::string path = folder.Write("rows.csv", text);
    const absl::StatusOr<Rows> whole = ReadAll(SmallPlan(1 << 20), {path});
    ASSERT_TRUE(whole.ok()) << whole.status();
    ASSERT_EQ(whole->size(), 4u);
    for (uint64_t block_bytes = 1; block_bytes <= 200; ++block_bytes) {
      const absl::StatusOr<Rows> cut = ReadAll(SmallPlan(block_bytes), {path});
      ASSERT_TRUE(cut.ok()) << cut.status() << " at " << block_bytes;
      ExpectEqual(*cut, *whole);
      EXPECT_EQ(cut->keys, whole->keys);
    }
  }
}

TEST(BlockCutTest, ARowBelongsToTheBlockOfItsFirstByte) {
  TestFolder folder;
  const std::string path = folder.Write("rows.csv", kRows);
  for (const uint64_t block_bytes : {1, 7, 16, 23, 24, 25, 60}) {
    const auto input = OpenInput(SmallPlan(block_bytes), {path});
    ASSERT_TRUE(input.ok()) << input.status();
    EXPECT_EQ((*input)->block_count(), (kRows.size() + block_bytes - 1) / block_bytes);
    for (uint64_t block = 0; block < (*input)->block_count(); ++block) {
      Rows rows;
      ASSERT_TRUE((*input)->ReadBlock(block, &rows).ok());
      for (const uint64_t key : rows.keys) EXPECT_EQ(RowKeyOffset(key) / block_bytes, block);
    }
  }
}

TEST(BlockCutTest, LineEndsDoNotChangeRows) {
  TestFolder folder;
  const std::string_view unended = kRows.substr(0, kRows.size() - 1);
  const absl::StatusOr<Rows> lf = ReadAll(SmallPlan(64), {folder.Write("lf.csv", kRows)});
  ASSERT_TRUE(lf.ok());
  for (const std::string& text : {WithCrlf(kRows), WithCrlf(unended), std::string(unended), "\xef\xbb\xbf" + std::string(kRows)}) {
    const absl::StatusOr<Rows> other = ReadAll(SmallPlan(64), {folder.Write("other.csv", text)});
    ASSERT_TRUE(other.ok()) << other.status();
    ExpectEqual(*other, *lf);
  }
}

TEST(BlockCutTest, PartsWithoutFinalLineEndAndEmptyPartsLoseNothing) {
  TestFolder folder;
  const std::string a = folder.Write("a.csv", kRows.substr(0, kRows.size() - 1));
  const std::string empty = folder.Write("empty.csv", "");
  const std::string header_only = folder.Write("header.csv", "clk,city,price\n");
  const std::string b = folder.Write("b.csv", kRows);
  for (const uint64_t block_bytes : {1, 10, 33, 1000}) {
    const absl::StatusOr<Rows> rows = ReadAll(SmallPlan(block_bytes), {a, empty, header_only, b});
    ASSERT_TRUE(rows.ok()) << rows.status();
    EXPECT_EQ(rows->size(), 8u);
    EXPECT_EQ(RowKeyFile(rows->keys[3]), 0u);
    EXPECT_EQ(RowKeyFile(rows->keys[4]), 3u);
  }
  const auto input = OpenInput(SmallPlan(10), {empty});
  ASSERT_TRUE(input.ok());
  EXPECT_EQ((*input)->block_count(), 0u);
}

TEST(BlockCutTest, WhereNamesFileAndLineOfARow) {
  TestFolder folder;
  const std::string path = folder.Write("rows.csv", kRows);
  const auto input = OpenInput(SmallPlan(5), {path});
  ASSERT_TRUE(input.ok());
  const absl::StatusOr<Rows> rows = ReadAll(SmallPlan(5), {path});
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ((*input)->Where(rows->keys[0]), path + ":2");
  EXPECT_EQ((*input)->Where(rows->keys[2]), path + ":5");  // line 4 is empty
}

TEST(BlockCutTest, ALongRowIsReadAndAnEndlessOneIsAnError) {
  TestFolder folder;
  const std::string long_text = "clk,city,price\n1," + std::string(3 << 20, 'x') + ",2\n0,b,1\n";
  const absl::StatusOr<Rows> rows = ReadAll(SmallPlan(4096), {folder.Write("long.csv", long_text)});
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_EQ(rows->size(), 2u);
  const std::string endless = "clk,city,price\n0,b,1\n1," + std::string((16 << 20) + 1, 'x') + ",2\n";
  EXPECT_EQ(ReadError(SmallPlan(1 << 24), folder.Write("endless.csv", endless)),
            "endless.csv:3: the row is longer than 16 MiB; is this a text file with one row in each line?");
}

TEST(BlockCutTest, AFailedBlockLeavesRowsAsTheyWere) {
  TestFolder folder;
  const std::string good = folder.Write("good.csv", kRows);
  const std::string bad = folder.Write("bad.csv", std::string(kRows) + "1,x,cheap\n");
  const auto input = OpenInput(SmallPlan(1000), {good, bad});
  ASSERT_TRUE(input.ok());
  Rows rows;
  ASSERT_TRUE((*input)->ReadBlock(0, &rows).ok());
  const Rows before = rows;
  const absl::Status status = (*input)->ReadBlock(1, &rows);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message().substr(0, bad.size() + 3), bad + ":7:");
  ExpectEqual(rows, before);
  EXPECT_EQ(rows.keys, before.keys);
}

}  // namespace
}  // namespace tessera
