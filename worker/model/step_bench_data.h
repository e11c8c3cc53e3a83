// Rows for the step bench.
#pragma once

#include "worker/data/rows.h"

namespace tessera {

inline constexpr uint32_t kBenchCategorical = 26;
inline constexpr uint32_t kBenchNumeric = 13;

// One batch: categorical ids by Zipf(1.05) over vocabularies like Criteo's, then the numerics as scaled fields. A function of `number`.
Rows MakeBenchRows(uint32_t rows, uint64_t number);

}  // namespace tessera
