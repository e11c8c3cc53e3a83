// Segments of one row with rates and optimisers of their own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/ps_table/table_fixture.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

// A row's floats after three updates with the same gradients for all values.
std::vector<float> AfterThreeUpdates(const TableSpec& table, double rate) {
  const auto layout = RowLayout::Make(table, 7).value();
  std::vector<float> floats(layout->floats());
  layout->InitialFloats(5, floats.data());
  for (uint64_t step = 1; step <= 3; ++step) {
    const std::vector<float> sums(layout->dim(), 0.25f * static_cast<float>(step));
    RowLayout::Update(*layout, Rule(rate, step)).Apply(sums.data(), floats.data());
  }
  return floats;
}

TableSpec ScaledTable(const Optimizer& optimizer, double weight_scale) {
  TableSpec table = MakeTable(3, optimizer);
  table.mutable_segments(0)->set_rate_scale(weight_scale);
  table.mutable_segments(1)->mutable_initializer()->set_constant(0);
  return table;
}

TEST(RateScaleTest, ASegmentOfTwiceTheRateMovesTwiceAsFar) {
  for (const Optimizer& optimizer : {Sgd(), Adagrad(), Adam()}) {
    const std::vector<float> floats = AfterThreeUpdates(ScaledTable(optimizer, 2), 0.0625);
    EXPECT_NE(floats[1], 0);
    EXPECT_FLOAT_EQ(floats[0], 2 * floats[1]) << optimizer.DebugString();
    EXPECT_EQ(floats[1], floats[3]);
  }
}

TEST(RateScaleTest, ItIsTheStepsRateTimesTheScale) {
  const std::vector<float> scaled = AfterThreeUpdates(ScaledTable(Adagrad(), 2), 0.05);
  const std::vector<float> plain = AfterThreeUpdates(ScaledTable(Adagrad(), 1), 0.1);
  EXPECT_EQ(scaled[0], plain[0]);
  EXPECT_NE(scaled[1], plain[1]);
}

TEST(RateScaleTest, AnAbsentScaleIsOne) {
  TableSpec absent = ScaledTable(Adagrad(), 1);
  absent.mutable_segments(0)->clear_rate_scale();
  EXPECT_EQ(AfterThreeUpdates(absent, 0.05), AfterThreeUpdates(ScaledTable(Adagrad(), 1), 0.05));
}

TEST(RateScaleTest, OneThatIsNotAboveZeroIsRefusedByName) {
  for (double scale : {0.0, -1.0, std::numeric_limits<double>::infinity()}) {
    EXPECT_THAT(std::string(RowLayout::Make(ScaledTable(Sgd(), scale), 7).status().message()),
                HasSubstr("table rows, segment weight: rate_scale"));
  }
}

TEST(RowLayoutTest, EachRunOfEqualOptimizersHasItsStateAfterTheValues) {
  TableSpec table = MakeTable(3, Adagrad());
  EXPECT_EQ(RowLayout::Make(table, 7).value()->floats(), 4u + 4u) << "one run";
  *table.mutable_segments(0)->mutable_optimizer() = Optimizer();
  table.mutable_segments(0)->mutable_optimizer()->mutable_ftrl();
  EXPECT_EQ(RowLayout::Make(table, 7).value()->floats(), 4u + 2u + 3u) << "z and n of the weight, then the embedding's sums";
  table.mutable_segments(1)->mutable_optimizer()->mutable_rowwise_adagrad();
  EXPECT_EQ(RowLayout::Make(table, 7).value()->floats(), 4u + 2u + 1u);
}

}  // namespace
}  // namespace tessera
