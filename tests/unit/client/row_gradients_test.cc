#include "worker/client/row_gradients.h"

#include <map>

#include "common/packed.h"
#include "gtest/gtest.h"
#include "worker/batch/rare_rows.h"

namespace tessera {
namespace {

constexpr uint64_t kRare = 100, kOtherRare = 200;

// Field 0 holds 1 1 1 1 2 3, field 1 always 4.
Batch RareBatch(const std::vector<uint64_t>& rare_ids) {
  Rows rows;
  rows.fields = 2;
  for (const uint64_t id : {1, 1, 1, 1, 2, 3}) {
    rows.labels.push_back(0);
    rows.keys.push_back(0);
    rows.ids.push_back(id);
    rows.ids.push_back(4);
  }
  return MakeBatch(std::move(rows), rare_ids);
}

uint32_t IndexOf(const Batch& batch, uint64_t id) {
  return static_cast<uint32_t>(std::find(batch.unique_ids.begin(), batch.unique_ids.end(), id) - batch.unique_ids.begin());
}

std::map<uint64_t, uint32_t> Counts(const std::string& ids, const std::string& counts) {
  std::map<uint64_t, uint32_t> map;
  const auto id = *PackedView<uint64_t>(ids, "ids");
  const auto count = *PackedView<uint32_t>(counts, "counts");
  EXPECT_EQ(id.size(), count.size());
  for (size_t i = 0; i < id.size(); ++i) EXPECT_TRUE(map.emplace(id[i], count[i]).second);
  return map;
}

using Expected = std::map<uint64_t, uint32_t>;

TEST(RowGradientsTest, AbsentIdsAreSightedAndTheirRareRowIsAlwaysAdmitted) {
  Batch batch = RareBatch({kRare, kOtherRare});
  UseRareRows({std::min(IndexOf(batch, 2), IndexOf(batch, 3)), std::max(IndexOf(batch, 2), IndexOf(batch, 3))}, &batch);
  std::vector<float> rows(batch.unique_ids.size());
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(batch.unique_ids[i]);
  Gradients sent;
  AppendRowGradients(batch, {0, batch.unique_ids.size()}, 1, rows, &sent);
  EXPECT_EQ(Counts(sent.ids(), sent.counts()), (Expected{{1, 4}, {4, 6}, {kRare, 15}})) << "a row without occurrences is not sent";
  EXPECT_EQ(Counts(sent.sighted_ids(), sent.sighted_counts()), (Expected{{2, 1}, {3, 1}}));
  const auto ids = *PackedView<uint64_t>(sent.ids(), "ids");
  const auto values = *PackedView<float>(sent.values(), "values");
  ASSERT_EQ(values.size(), ids.size());
  for (size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(values[i], static_cast<float>(ids[i]));
}

TEST(RowGradientsTest, WithoutAbsentIdsRareRowsAreNotSent) {
  const Batch with = RareBatch({kRare, kOtherRare}), without = RareBatch({});
  const std::vector<float> rows(with.unique_ids.size());
  Gradients sent, plain;
  AppendRowGradients(with, {0, with.unique_ids.size()}, 1, rows, &sent);
  AppendRowGradients(without, {0, without.unique_ids.size()}, 1, absl::MakeConstSpan(rows).subspan(0, without.unique_ids.size()), &plain);
  EXPECT_EQ(sent.SerializeAsString(), plain.SerializeAsString());
}

TEST(RowGradientsTest, ARareRowOfManyOccurrencesSaysHowMany) {
  Batch batch = RareBatch({kRare, kOtherRare});
  std::vector<uint32_t> absent;
  for (uint32_t i = 0; i < batch.unique_ids.size(); ++i) absent.push_back(i);
  UseRareRows(absent, &batch);
  Batch many = batch;
  for (uint32_t& begin : many.occurrence_begin) begin *= 10;
  const std::vector<float> rows(batch.unique_ids.size());
  Gradients sent;
  AppendRowGradients(many, {0, many.unique_ids.size()}, 1, rows, &sent);
  EXPECT_EQ(Counts(sent.ids(), sent.counts()), (Expected{{kRare, 60}, {kOtherRare, 60}}));
}

TEST(RowGradientsTest, PartsTogetherAreTheWhole) {
  Batch batch = RareBatch({kRare, kOtherRare});
  UseRareRows({IndexOf(batch, 1)}, &batch);
  const std::vector<float> rows(batch.unique_ids.size() * 3, 0.5f);
  Gradients whole, parts;
  AppendRowGradients(batch, {0, batch.unique_ids.size()}, 3, rows, &whole);
  for (size_t i = 0; i < batch.unique_ids.size(); ++i) {
    Gradients part;
    AppendRowGradients(batch, {i, i + 1}, 3, rows, &part);
    parts.mutable_ids()->append(part.ids());
    parts.mutable_counts()->append(part.counts());
    parts.mutable_values()->append(part.values());
    parts.mutable_sighted_ids()->append(part.sighted_ids());
    parts.mutable_sighted_counts()->append(part.sighted_counts());
  }
  EXPECT_EQ(whole.SerializeAsString(), parts.SerializeAsString());
}

}  // namespace
}  // namespace tessera
