#include "ps/optimizer/sgd.h"

#include <cassert>

namespace tessera {

void SgdOptimizer::InitialState([[maybe_unused]] absl::Span<float> state) const { assert(state.empty()); }

StepFactors SgdOptimizer::Prepare(double learning_rate, uint64_t) const { return {static_cast<float>(learning_rate), 1}; }

void SgdOptimizer::Apply(const StepFactors& factors, float scale, absl::Span<const float> sums, absl::Span<float>,
                         absl::Span<float> values) const {
  assert(sums.size() == values.size());
  const float rate = factors.rate;
  const float l2 = l2_;
  const float* __restrict sum = sums.data();
  float* __restrict value = values.data();
  const size_t count = values.size();
#pragma omp simd
  for (size_t i = 0; i < count; ++i) value[i] -= rate * (sum[i] * scale + l2 * value[i]);
}

}  // namespace tessera
