#include "ps/optimizer/ftrl.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace tessera {

void FtrlOptimizer::InitialState(absl::Span<float> state) const { std::fill(state.begin(), state.end(), 0.0f); }

StepFactors FtrlOptimizer::Prepare(double learning_rate, uint64_t) const { return {static_cast<float>(learning_rate), 1}; }

void FtrlOptimizer::Apply(const StepFactors& factors, float scale, absl::Span<const float> sums, absl::Span<float> state,
                         absl::Span<float> values) const {
  assert(sums.size() == values.size() && state.size() == StateFloats(values.size()));
  const float rate = factors.rate;
  const float l2 = l2_;
  const size_t count = values.size();
  const float* __restrict sum = sums.data();
  float* __restrict value = values.data();
  if (!(rate > 0)) return;  // the step moves nothing
  float* __restrict linear = state.data();
  float* __restrict squares = state.data() + count;
  const float inverse = 1 / rate;
  const float beta = beta_;
  const float l1 = l1_;
#pragma omp simd
  for (size_t i = 0; i < count; ++i) {
    const float w = value[i];
    const float gradient = sum[i] * scale;
    const float before = squares[i];
    const float after = before + gradient * gradient;
    const float root = std::sqrt(after);
    const float start = w == 0 ? 0.0f : -(w * (beta * inverse + l2) + std::copysign(l1, w));
    const float z = (before == 0 ? start : linear[i]) + gradient - (root - std::sqrt(before)) * inverse * w;
    const float moved = std::copysign(l1, z) - z;
    const float next = std::fabs(z) <= l1 ? 0.0f : moved / ((beta + root) * inverse + l2);
    linear[i] = after == 0 ? 0.0f : z;
    squares[i] = after;
    value[i] = after == 0 ? w : next;
  }
}

}  // namespace tessera
