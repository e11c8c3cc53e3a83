#include "worker/data/rows.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

Rows Fixed(bool scaled) {
  Rows rows;
  rows.fields = 2;
  rows.dense_width = 1;
  rows.labels = {0, 1, 1};
  rows.ids = {10, 11, 20, 21, 30, 31};
  if (scaled) rows.scales = {1, 0.5f, 1, 0.25f, 1, 0};
  rows.dense = {-1, -2, -3};
  rows.keys = {100, 200, 300};
  rows.kept = {"a", "b", "c"};
  return rows;
}

Rows Ragged(bool scaled) {
  Rows rows;
  rows.fields = 2;
  rows.labels = {0, 1, 1};
  rows.ids = {1, 2, 3, 4, 5};
  if (scaled) rows.scales = {0.1f, 0.2f, 0.3f, 0.4f, 0.5f};
  rows.offsets = {0, 2, 3, 3, 3, 3, 5};  // the second row is empty
  rows.keys = {100, 200, 300};
  return rows;
}

TEST(RowsTest, AppendRowCopiesARowWithAllItHas) {
  const Rows from = Fixed(true);
  Rows rows;
  rows.AppendRow(from, 2);
  rows.AppendRow(from, 0);
  EXPECT_EQ(rows.fields, 2u);
  EXPECT_EQ(rows.dense_width, 1u);
  EXPECT_EQ(rows.labels, (std::vector<float>{1, 0}));
  EXPECT_EQ(rows.ids, (std::vector<uint64_t>{30, 31, 10, 11}));
  EXPECT_EQ(rows.scales, (std::vector<float>{1, 0, 1, 0.5f}));
  EXPECT_EQ(rows.dense, (std::vector<float>{-3, -1}));
  EXPECT_EQ(rows.keys, (std::vector<uint64_t>{300, 100}));
  EXPECT_EQ(rows.kept, (std::vector<std::string>{"c", "a"}));
  EXPECT_TRUE(rows.offsets.empty());
}

TEST(RowsTest, AppendShiftsOffsets) {
  const Rows from = Ragged(false);
  Rows rows;
  rows.AppendRow(from, 2);
  rows.AppendRow(from, 1);
  rows.Append(from);
  EXPECT_EQ(rows.offsets, (std::vector<uint32_t>{0, 0, 2, 2, 2, 4, 5, 5, 5, 5, 7}));
  EXPECT_EQ(rows.ids, (std::vector<uint64_t>{4, 5, 1, 2, 3, 4, 5}));
  EXPECT_EQ(rows.size(), 5u);
}

TEST(RowsTest, RowsWithAndWithoutScalesMix) {
  Rows rows;
  rows.AppendRow(Ragged(false), 0);
  rows.AppendRow(Ragged(true), 0);
  rows.AppendRow(Ragged(false), 2);
  EXPECT_EQ(rows.scales, (std::vector<float>{1, 1, 1, 0.1f, 0.2f, 0.3f, 1, 1}));
}

TEST(RowsTest, ClearLeavesNoRow) {
  Rows rows = Ragged(true);
  rows.Clear();
  EXPECT_EQ(rows.size(), 0u);
  EXPECT_TRUE(rows.ids.empty() && rows.scales.empty() && rows.offsets.empty() && rows.dense.empty() && rows.keys.empty() && rows.kept.empty());
  rows.Append(Fixed(false));
  EXPECT_EQ(rows.ids, Fixed(false).ids);
  EXPECT_TRUE(rows.offsets.empty());
}

TEST(RowsTest, AppendingNothingChangesNothing) {
  Rows rows = Fixed(true);
  rows.Append(Rows());
  EXPECT_EQ(rows.ids, Fixed(true).ids);
}

}  // namespace
}  // namespace tessera
