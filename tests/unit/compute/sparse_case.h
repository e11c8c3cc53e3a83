// Look-ups to try the sparse operations with: occurrences in both layouts, and the operations' definition as plain loops in double.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/unit/compute/backend_contract.h"

namespace tessera {

struct SparseCase {
  int64_t rows = 0;
  int64_t fields = 0;
  int64_t dim = 0;
  int64_t dense = 0;
  int64_t ids = 0;
  std::vector<uint32_t> inverse, offsets, begin, order;
  std::vector<float> scales;
  std::vector<float> values, dense_values, dense_weights;

  // [first, last) of the occurrences of (row, field).
  int64_t First(int64_t slot) const { return offsets.empty() ? slot : offsets[slot]; }
  int64_t Last(int64_t slot) const { return offsets.empty() ? slot + 1 : offsets[slot + 1]; }
  double Scale(int64_t o) const { return scales.empty() ? 1 : scales[o]; }
  // Embedding dimension j of a unique id; -1 is the first-order weight.
  double Value(uint32_t id, int64_t j) const { return values[id * (dim + 1) + 1 + j]; }
};

// Ids are drawn unevenly, so some stand in many rows; `runs`: 0 to 3 occurrences for each (row, field) instead of one.
SparseCase MakeSparseCase(int64_t rows, int64_t fields, int64_t dim, int64_t dense, bool scaled, bool runs);

// EmbedForward of row i in double.
struct SparseRow {
  std::vector<double> x, sums;
  double logit = 0;
};
SparseRow ForwardOfRow(const SparseCase& c, int64_t i);

// A case in a backend's memory.
class DeviceSparseCase {
 public:
  DeviceSparseCase(Backend* backend, const SparseCase& c);
  Occurrences occurrences();
  Input<float> values, dense, dense_weights;

 private:
  const SparseCase& case_;
  Backend* backend_;
  Input<uint32_t> inverse_, offsets_, begin_, order_;
  Input<float> scales_;
  Output<uint32_t> slots_;
};

}  // namespace tessera
