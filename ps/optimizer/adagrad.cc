#include "ps/optimizer/adagrad.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace tessera {

void AdagradOptimizer::InitialState(absl::Span<float> state) const { std::fill(state.begin(), state.end(), initial_accumulator_); }

StepFactors AdagradOptimizer::Prepare(double learning_rate, uint64_t) const { return {static_cast<float>(learning_rate), 1}; }

void AdagradOptimizer::Apply(const StepFactors& factors, float scale, absl::Span<const float> sums, absl::Span<float> state,
                             absl::Span<float> values) const {
  assert(sums.size() == values.size() && state.size() == values.size());
  const float rate = factors.rate;
  const float epsilon = epsilon_;
  const float l2 = l2_;
  const float* __restrict sum = sums.data();
  float* __restrict accumulator = state.data();
  float* __restrict value = values.data();
  const size_t count = values.size();
#pragma omp simd
  for (size_t i = 0; i < count; ++i) {
    const float gradient = sum[i] * scale + l2 * value[i];
    const float total = accumulator[i] + gradient * gradient;
    accumulator[i] = total;
    value[i] -= rate * gradient / (std::sqrt(total) + epsilon);
  }
}

}  // namespace tessera
