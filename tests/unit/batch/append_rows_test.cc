#include "worker/batch/append_rows.h"

#include "common/random.h"
#include "gtest/gtest.h"

namespace tessera {
namespace {

Rows RandomRows(size_t count, bool ragged, bool scaled, uint64_t key) {
  RandomSequence random(key);
  Rows rows;
  rows.fields = 3;
  rows.dense_width = 2;
  if (ragged) rows.offsets.push_back(0);
  for (size_t i = 0; i < count; ++i) {
    rows.labels.push_back(static_cast<float>(random.Below(2)));
    rows.keys.push_back(random.Next());
    rows.kept.push_back(std::to_string(i));
    for (uint32_t d = 0; d < rows.dense_width; ++d) rows.dense.push_back(UniformFloat(random.Next()));
    for (uint32_t f = 0; f < rows.fields; ++f) {
      const uint64_t occurrences = ragged ? random.Below(4) : 1;
      for (uint64_t k = 0; k < occurrences; ++k) {
        rows.ids.push_back(random.Next());
        if (scaled) rows.scales.push_back(UniformFloat(random.Next()));
      }
      if (ragged) rows.offsets.push_back(static_cast<uint32_t>(rows.ids.size()));
    }
  }
  return rows;
}

void ExpectEqual(const Rows& a, const Rows& b) {
  EXPECT_EQ(a.fields, b.fields);
  EXPECT_EQ(a.dense_width, b.dense_width);
  EXPECT_EQ(a.labels, b.labels);
  EXPECT_EQ(a.ids, b.ids);
  EXPECT_EQ(a.scales, b.scales);
  EXPECT_EQ(a.offsets, b.offsets);
  EXPECT_EQ(a.dense, b.dense);
  EXPECT_EQ(a.keys, b.keys);
  EXPECT_EQ(a.kept, b.kept);
}

TEST(AppendRowsTest, EqualsAppendingRowByRow) {
  RandomSequence random(5);
  for (const bool ragged : {false, true}) {
    for (int scaled = 0; scaled < 4; ++scaled) {  // in neither, one, the other, both
      const Rows a = RandomRows(20, ragged, scaled & 1, 1);
      const Rows b = RandomRows(30, ragged, scaled & 2, 2);
      Rows once, one_by_one;
      for (int call = 0; call < 3; ++call) {
        std::vector<RowRef> refs;
        for (int i = 0; i < 40; ++i) {
          const Rows& from = random.Below(2) == 0 ? a : b;
          refs.push_back({&from, static_cast<uint32_t>(random.Below(from.size()))});
          one_by_one.AppendRow(from, refs.back().row);
        }
        AppendRows(refs, &once);
      }
      ExpectEqual(once, one_by_one);
    }
  }
}

TEST(AppendRowsTest, NothingAppendedChangesNothing) {
  Rows rows = RandomRows(3, true, true, 1);
  const Rows before = rows;
  AppendRows({}, &rows);
  ExpectEqual(rows, before);
}

}  // namespace
}  // namespace tessera
