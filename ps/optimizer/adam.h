// Adam (Kingma, Ba 2015), lazy: moments change only where a gradient comes; bias correction by the step the update carries.
//   g += l2 * w;  w -= learning_rate * weight_decay * w (AdamW: Loshchilov, Hutter 2019)
//   m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g g;  w -= rate * (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + epsilon)
// State: all m, then all v.
#pragma once

#include "ps/optimizer/optimizer.h"

namespace tessera {

class AdamOptimizer : public ValueOptimizer {
 public:
  // REQUIRES: 0 <= beta < 1, epsilon > 0.
  AdamOptimizer(double beta1, double beta2, float epsilon, float l2, double weight_decay)
      : beta1_(beta1), beta2_(beta2), epsilon_(epsilon), l2_(l2), weight_decay_(weight_decay) {}

  size_t StateFloats(size_t count) const override { return 2 * count; }
  void InitialState(absl::Span<float> state) const override;
  StepFactors Prepare(double learning_rate, uint64_t step) const override;
  void Apply(const StepFactors& factors, float scale, absl::Span<const float> sums, absl::Span<float> state,
             absl::Span<float> values) const override;

 private:
  const double beta1_;
  const double beta2_;
  const float epsilon_;
  const float l2_;
  const double weight_decay_;
};

}  // namespace tessera
