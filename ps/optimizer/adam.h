// Adam (Kingma, Ba 2015), lazy: moments change only where a gradient comes; bias correction by the step the update carries.
//   m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g g;  w -= rate * (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + epsilon)
// State: all m, then all v.
#pragma once

#include "ps/optimizer/optimizer.h"

namespace tessera {

class AdamOptimizer : public ValueOptimizer {
 public:
  // REQUIRES: 0 <= beta < 1, epsilon > 0.
  AdamOptimizer(double beta1, double beta2, float epsilon) : beta1_(beta1), beta2_(beta2), epsilon_(epsilon) {}

  uint32_t StateFloats() const override { return 2; }
  void InitialState(absl::Span<float> state) const override;
  StepFactors Prepare(double learning_rate, uint64_t step) const override;
  void Apply(const StepFactors& factors, float scale, absl::Span<const float> sums, absl::Span<float> state,
             absl::Span<float> values) const override;

 private:
  const double beta1_;
  const double beta2_;
  const float epsilon_;
};

}  // namespace tessera
