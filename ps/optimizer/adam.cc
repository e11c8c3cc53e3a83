#include "ps/optimizer/adam.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace tessera {

void AdamOptimizer::InitialState(absl::Span<float> state) const { std::fill(state.begin(), state.end(), 0.0f); }

StepFactors AdamOptimizer::Prepare(double learning_rate, uint64_t step) const {
  assert(step >= 1);
  const double t = static_cast<double>(step);
  return {static_cast<float>(learning_rate / (1 - std::pow(beta1_, t))), static_cast<float>(1 / std::sqrt(1 - std::pow(beta2_, t))),
          static_cast<float>(1 - learning_rate * weight_decay_)};
}

void AdamOptimizer::Apply(const StepFactors& factors, float scale, absl::Span<const float> sums, absl::Span<float> state,
                          absl::Span<float> values) const {
  assert(sums.size() == values.size() && state.size() == 2 * values.size());
  const float rate = factors.rate;
  const float second_scale = factors.second_scale;
  const float epsilon = epsilon_;
  const float l2 = l2_;
  const float keep = factors.keep;
  const float beta1 = static_cast<float>(beta1_);
  const float beta2 = static_cast<float>(beta2_);
  const float rest1 = static_cast<float>(1 - beta1_);
  const float rest2 = static_cast<float>(1 - beta2_);
  const size_t count = values.size();
  const float* __restrict sum = sums.data();
  float* __restrict first = state.data();
  float* __restrict second = state.data() + count;
  float* __restrict value = values.data();
#pragma omp simd
  for (size_t i = 0; i < count; ++i) {
    const float gradient = sum[i] * scale + l2 * value[i];
    const float m = beta1 * first[i] + rest1 * gradient;
    const float v = beta2 * second[i] + rest2 * gradient * gradient;
    first[i] = m;
    second[i] = v;
    value[i] = value[i] * keep - rate * m / (std::sqrt(v) * second_scale + epsilon);
  }
}

}  // namespace tessera
