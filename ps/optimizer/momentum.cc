#include "ps/optimizer/momentum.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace tessera {

void MomentumOptimizer::InitialState(absl::Span<float> state) const { std::fill(state.begin(), state.end(), 0.0f); }

StepFactors MomentumOptimizer::Prepare(double learning_rate, uint64_t) const { return {static_cast<float>(learning_rate), 1}; }

void MomentumOptimizer::Apply(const StepFactors& factors, float scale, absl::Span<const float> sums, absl::Span<float> state,
                             absl::Span<float> values) const {
  assert(sums.size() == values.size() && state.size() == StateFloats(values.size()));
  const float rate = factors.rate;
  const float l2 = l2_;
  const size_t count = values.size();
  const float* __restrict sum = sums.data();
  float* __restrict value = values.data();
  float* __restrict buffer = state.data();
  const float momentum = momentum_;
#pragma omp simd
  for (size_t i = 0; i < count; ++i) {
    const float b = momentum * buffer[i] + (sum[i] * scale + l2 * value[i]);
    buffer[i] = b;
    value[i] -= rate * b;
  }
}

}  // namespace tessera
