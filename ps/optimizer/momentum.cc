// SGD with heavy-ball momentum, as PyTorch has it: g += l2 * w; b = momentum * b + g; w -= rate * b. State: b.
#include "ps/optimizer/optimizers.h"

namespace tessera {
namespace {

struct MomentumRule : PlainRule {
  float momentum;
  float l2;

  size_t StateFloats(size_t count) const { return count; }
  auto Kernel(const StepFactors& factors) const {
    return [rate = factors.rate, momentum = momentum, l2 = l2](float sum, float& value, float& buffer) {
      const float b = momentum * buffer + (sum + l2 * value);
      buffer = b;
      value -= rate * b;
    };
  }
};

}  // namespace

OptimizerOr MakeMomentum(const Momentum& spec, Constants constants) {
  const double momentum = constants.BelowOne("momentum", spec.has_momentum() ? spec.momentum() : 0.9);
  return constants.Make(MomentumRule{{}, static_cast<float>(momentum), constants.NotNegative("l2", spec.l2())});
}

}  // namespace tessera
