#include "worker/model/step_bench_data.h"

#include <algorithm>
#include <cmath>

#include "common/random.h"

namespace tessera {
namespace {

constexpr double kVocabulary[kBenchCategorical] = {1400,  560,    380000, 150000, 300,  24, 12000,  630, 3,  60000,  5300, 340000, 3100, 26,
                                                   11000, 300000, 10,     4600,   2000, 4,  330000, 18,  15, 220000, 86,   178924};
constexpr double kExponent = 1.05;

// Inverse of the continuous Zipf distribution on [1, n].
uint64_t ZipfRank(double u, double n) {
  const double x = std::pow(1 - u * (1 - std::pow(n, 1 - kExponent)), 1 / (1 - kExponent));
  return static_cast<uint64_t>(std::min(n - 1, x - 1));
}

}  // namespace

Rows MakeBenchRows(uint32_t count, uint64_t number) {
  Rows rows;
  rows.fields = kBenchCategorical + kBenchNumeric;
  RandomSequence random(MixKey(number, 4096));
  for (uint32_t i = 0; i < count; ++i) {
    rows.labels.push_back(random.Below(4) == 0 ? 1.0f : 0.0f);
    rows.keys.push_back(number * count + i);
    for (uint64_t f = 0; f < rows.fields; ++f) {
      const double u = UniformDouble(random.Next());
      rows.ids.push_back(Mix64(f << 40 | (f < kBenchCategorical ? ZipfRank(u, kVocabulary[f]) : 0)));
      rows.scales.push_back(f < kBenchCategorical ? 1.0f : static_cast<float>(2 * u));
    }
  }
  return rows;
}

}  // namespace tessera
