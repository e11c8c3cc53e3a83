#include "worker/batch/rare_rows.h"

#include <algorithm>
#include <map>

#include "common/feature_id.h"
#include "common/partition.h"
#include "common/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kRareA = 1000, kRareB = 2000;

// Fields 0 and 2 share an embedding; ids 0 .. 7 stand in any field.
Rows ThreeFields(size_t rows, uint64_t key, bool offsets) {
  RandomSequence random(key);
  Rows made;
  made.fields = 3;
  if (offsets) made.offsets.push_back(0);
  for (size_t i = 0; i < rows; ++i) {
    made.labels.push_back(0);
    made.keys.push_back(i);
    for (int f = 0; f < 3; ++f) {
      const uint64_t values = offsets ? random.Below(3) : 1;
      for (uint64_t v = 0; v < values; ++v) made.ids.push_back(random.Below(8));
      if (offsets) made.offsets.push_back(static_cast<uint32_t>(made.ids.size()));
    }
  }
  return made;
}

std::vector<uint32_t> IndicesOf(const Batch& batch, const std::vector<uint64_t>& ids) {
  std::vector<uint32_t> indices;
  for (uint32_t i = 0; i < batch.unique_ids.size(); ++i) {
    if (std::find(ids.begin(), ids.end(), batch.unique_ids[i]) != ids.end()) indices.push_back(i);
  }
  return indices;
}

TEST(RareIdsTest, FieldsOfOneEmbeddingShareARareRow) {
  Plan plan;
  plan.mutable_job()->mutable_admission()->set_sightings(2);
  plan.mutable_schema()->set_format(csv);
  const auto add = [&](const char* name, Column::Role role, const char* embedding) {
    Column* column = plan.mutable_schema()->add_columns();
    column->set_name(name);
    column->set_role(role);
    column->set_embedding(embedding);
    return column;
  };
  add("click", Column::LABEL, "");
  Column* price = add("price", Column::NUMERIC, "");
  price->add_treat(scaled);
  price->add_treat(bucket);
  add("weekday", Column::NUMERIC, "")->add_treat(dense);
  add("clicked_item", Column::CATEGORICAL, "item");
  add("item", Column::CATEGORICAL, "");
  add("user", Column::CATEGORICAL, "user");
  const uint64_t item = TokenHasher("item").RareId(), user = TokenHasher("user").RareId(), price_id = TokenHasher("price").RareId();
  EXPECT_THAT(RareIds(plan), ElementsAre(item, item, user, price_id, price_id));
  plan.mutable_job()->mutable_admission()->set_sightings(1);
  EXPECT_THAT(RareIds(plan), IsEmpty()) << "every id has a row";
}

TEST(RareIdsTest, AllFieldsOfLibsvmShareOne) {
  Plan plan;
  plan.mutable_job()->mutable_admission()->set_sightings(2);
  plan.mutable_schema()->set_format(libsvm);
  plan.mutable_schema()->add_fields("0..9");
  plan.mutable_schema()->add_fields("10..");
  const uint64_t index = TokenHasher("index").RareId();
  EXPECT_THAT(RareIds(plan), ElementsAre(index, index));
}

TEST(RareRowsTest, RareIdsAreAskedForWithoutOccurrences) {
  const std::vector<uint64_t> rare_ids = {kRareA, kRareB, kRareA};
  const Rows rows = ThreeFields(20, 1, false);
  const Batch plain = MakeBatch(rows), batch = MakeBatch(rows, rare_ids);
  EXPECT_EQ(batch.unique_ids.size(), plain.unique_ids.size() + 2);
  ASSERT_EQ(batch.rare.size(), 3u);
  for (size_t f = 0; f < 3; ++f) {
    EXPECT_EQ(batch.unique_ids[batch.rare[f]], rare_ids[f]);
    EXPECT_EQ(batch.occurrence_begin[batch.rare[f]], batch.occurrence_begin[batch.rare[f] + 1]);
  }
  for (size_t i = 0; i < rows.ids.size(); ++i) EXPECT_EQ(batch.unique_ids[batch.inverse[i]], rows.ids[i]);
  for (uint32_t p = 0; p < kPartitions; ++p) {
    for (uint32_t u = batch.partition_begin[p]; u < batch.partition_begin[p + 1]; ++u) EXPECT_EQ(PartitionOf(batch.unique_ids[u]), p);
  }
}

TEST(RareRowsTest, EveryOccurrenceOfAnAbsentIdUsesTheRareRowOfItsField) {
  const std::vector<uint64_t> rare_ids = {kRareA, kRareB, kRareA}, absent = {2, 5, 7};
  for (const bool offsets : {false, true}) {
    const Rows rows = ThreeFields(200, 2, offsets);
    Batch batch = MakeBatch(rows, rare_ids);
    UseRareRows(IndicesOf(batch, absent), &batch);

    std::map<uint64_t, std::vector<uint32_t>> places;
    std::map<uint64_t, uint32_t> sighted;
    for (size_t slot = 0; slot < rows.size() * 3; ++slot) {
      const size_t begin = offsets ? rows.offsets[slot] : slot, end = offsets ? rows.offsets[slot + 1] : slot + 1;
      for (size_t o = begin; o < end; ++o) {
        const bool is_absent = std::find(absent.begin(), absent.end(), rows.ids[o]) != absent.end();
        const uint64_t id = is_absent ? rare_ids[slot % 3] : rows.ids[o];
        if (is_absent) ++sighted[rows.ids[o]];
        places[id].push_back(static_cast<uint32_t>(o));
        ASSERT_EQ(batch.unique_ids[batch.inverse[o]], id);
      }
    }
    ASSERT_EQ(sighted.size(), 3u);
    for (size_t u = 0; u < batch.unique_ids.size(); ++u) {
      const std::vector<uint32_t> found(batch.occurrences.begin() + batch.occurrence_begin[u],
                                        batch.occurrences.begin() + batch.occurrence_begin[u + 1]);
      EXPECT_EQ(found, places[batch.unique_ids[u]]) << "ascending";
      EXPECT_EQ(batch.sighted[u], sighted[batch.unique_ids[u]]);
    }
  }
}

TEST(RareRowsTest, ARareRowThatIsItselfAbsentIsUsedAllTheSame) {
  Batch batch = MakeBatch(ThreeFields(20, 3, false), std::vector<uint64_t>{kRareA, kRareB, kRareA});
  const std::vector<uint32_t> inverse = batch.inverse;
  UseRareRows(IndicesOf(batch, {kRareA, kRareB}), &batch);
  EXPECT_EQ(batch.inverse, inverse);
  EXPECT_THAT(batch.sighted, IsEmpty());
}

}  // namespace
}  // namespace tessera
