#include "ps/optimizer/rowwise_adagrad.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace tessera {

void RowwiseAdagradOptimizer::InitialState(absl::Span<float> state) const { std::fill(state.begin(), state.end(), initial_accumulator_); }

StepFactors RowwiseAdagradOptimizer::Prepare(double learning_rate, uint64_t) const { return {static_cast<float>(learning_rate), 1}; }

void RowwiseAdagradOptimizer::Apply(const StepFactors& factors, float scale, absl::Span<const float> sums, absl::Span<float> state,
                                   absl::Span<float> values) const {
  assert(sums.size() == values.size() && state.size() == StateFloats(values.size()));
  const float rate = factors.rate;
  const float l2 = l2_;
  const size_t count = values.size();
  const float* __restrict sum = sums.data();
  float* __restrict value = values.data();
  float squares = 0;  // in order: the same bits whatever the vector width
  for (size_t i = 0; i < count; ++i) {
    const float gradient = sum[i] * scale + l2 * value[i];
    squares += gradient * gradient;
  }
  state[0] += squares / static_cast<float>(count);
  const float root = std::sqrt(state[0]) + epsilon_;
#pragma omp simd
  for (size_t i = 0; i < count; ++i) value[i] -= rate * (sum[i] * scale + l2 * value[i]) / root;
}

}  // namespace tessera
