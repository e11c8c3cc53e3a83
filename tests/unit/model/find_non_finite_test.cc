#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/model/model_case.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

ModelGradients Zeros(const ModelCase& c) {
  ModelGradients gradients;
  gradients.rows.resize(c.rows.size());
  gradients.dense.resize(c.dense.size());
  return gradients;
}

TEST(FindNonFiniteTest, FiniteGradientsAreFine) {
  const ModelCase c = MakeCase({});
  ModelGradients gradients = Zeros(c);
  gradients.rows[3] = std::numeric_limits<float>::max();
  EXPECT_EQ(FindNonFinite(c.plan, c.batch, gradients), "");
}

TEST(FindNonFiniteTest, NamesFieldAndRowOfATableGradient) {
  for (bool runs : {false, true}) {
    const ModelCase c = MakeCase({.rows = 40, .runs = runs});
    // The last id that occurs: find one of its slots by hand.
    const Rows& rows = c.batch.rows;
    for (size_t slot = 0; slot < rows.size() * rows.fields; ++slot) {
      const size_t begin = runs ? rows.offsets[slot] : slot, end = runs ? rows.offsets[slot + 1] : slot + 1;
      if (begin == end) continue;
      const uint32_t id = c.batch.inverse[begin];
      if (c.batch.occurrences[c.batch.occurrence_begin[id]] != begin) continue;  // not its first occurrence
      ModelGradients gradients = Zeros(c);
      gradients.rows[id * 5 + 4] = kNaN;
      const std::string found = FindNonFinite(c.plan, c.batch, gradients);
      EXPECT_THAT(found, HasSubstr("gradient of embedding of table features, field field" + std::to_string(slot % rows.fields) + " is nan"));
      EXPECT_THAT(found, HasSubstr("row key " + std::to_string(rows.keys[slot / rows.fields])));
      EXPECT_THAT(found, HasSubstr("file 1, byte " + std::to_string(slot / rows.fields * 100)));
      gradients.rows[id * 5 + 4] = 0;
      gradients.rows[id * 5] = kInfinity;
      EXPECT_THAT(FindNonFinite(c.plan, c.batch, gradients), HasSubstr("gradient of weight"));
    }
  }
}

TEST(FindNonFiniteTest, ARowThatNoOccurrenceUsesIsNamedByItsId) {
  ModelCase c = MakeCase({.rows = 10});
  c.batch = MakeBatch(c.batch.rows, std::vector<uint64_t>(c.batch.rows.fields, 4711));
  ModelGradients gradients;
  gradients.rows.resize(c.batch.unique_ids.size() * 5);
  gradients.rows[c.batch.rare[0] * 5] = kNaN;
  EXPECT_EQ(FindNonFinite(c.plan, c.batch, gradients),
            "gradient of weight of table features is nan (feature id 4711, in no row of the batch)");
}

TEST(FindNonFiniteTest, NamesADenseVariable) {
  const ModelCase c = MakeCase({.fields = 3, .dim = 4, .hidden = {7, 5}});
  ModelGradients gradients = Zeros(c);
  gradients.dense[12 * 7 + 2] = -kInfinity;
  EXPECT_EQ(FindNonFinite(c.plan, c.batch, gradients), "gradient of mlp.0.bias[2] is -inf");
  gradients = Zeros(c);
  gradients.loss = kNaN;
  EXPECT_EQ(FindNonFinite(c.plan, c.batch, gradients), "loss is nan");
}

}  // namespace
}  // namespace tessera
