#include "worker/compute/dropout.h"

#include <cmath>

#include "gtest/gtest.h"

namespace tessera {
namespace {

TEST(DropoutTest, DropsTheGivenPartOfEveryRowUnitAndKey) {
  for (double rate : {0.1, 0.5, 0.9}) {
    const int rows = 500, units = 400;
    std::vector<int> by_unit(units), by_row(rows);
    int total = 0;
    for (int i = 0; i < rows; ++i) {
      const DropoutRow row = MakeDropoutRow(3, i);
      for (int j = 0; j < units; ++j) {
        const bool dropped = DropoutBits(row, j) < DropoutThreshold(rate);
        total += dropped, by_row[i] += dropped, by_unit[j] += dropped;
      }
    }
    const double sigma = std::sqrt(rate * (1 - rate));
    EXPECT_NEAR(total, rows * units * rate, 5 * sigma * std::sqrt(rows * units));
    for (int count : by_row) EXPECT_NEAR(count, units * rate, 5 * sigma * std::sqrt(units));
    for (int count : by_unit) EXPECT_NEAR(count, rows * rate, 5 * sigma * std::sqrt(rows));
  }
}

TEST(DropoutTest, NeighboursAreIndependent) {
  int next_unit = 0, next_row = 0, next_key = 0;
  const int n = 300;
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      const bool here = DropoutBits(MakeDropoutRow(1, i), j) >> 31;
      next_unit += here == (DropoutBits(MakeDropoutRow(1, i), j + 1) >> 31);
      next_row += here == (DropoutBits(MakeDropoutRow(1, i + 1), j) >> 31);
      next_key += here == (DropoutBits(MakeDropoutRow(2, i), j) >> 31);
    }
  }
  for (int agreements : {next_unit, next_row, next_key}) EXPECT_NEAR(agreements, n * n / 2, 5 * 0.5 * n);
}

TEST(DropoutTest, BitsAreACommonContractOfAllBackends) {
  EXPECT_EQ(DropoutBits(MakeDropoutRow(1, 2), 3), DropoutBits(MakeDropoutRow(1, 2), 3));
  EXPECT_EQ(DropoutThreshold(0.5), 0x80000000u);
  EXPECT_EQ(DropoutThreshold(0), 0u);
}

}  // namespace
}  // namespace tessera
