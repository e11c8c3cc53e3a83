// FTRL-Proximal (McMahan et al. 2013), rate = alpha:
//   n' = n + g * g;  z += g - (sqrt(n') - sqrt(n)) / rate * w;  n = n'
//   w = 0 where |z| <= l1, else -(z - sign(z) l1) / ((beta + sqrt(n)) / rate + l2)
// A value starts where its initializer puts it, not at 0: while n is 0, z is taken to be what makes the last line give that value, so a
// gradient of 0 keeps it. From 0 this is the paper. State: all z, then all n.
#include "ps/optimizer/optimizers.h"

namespace tessera {
namespace {

struct FtrlRule : PlainRule {
  float beta;
  float l1;
  float l2;

  size_t StateFloats(size_t count) const { return 2 * count; }
  bool Rests(const StepFactors& factors) const { return !(factors.rate > 0); }
  auto Kernel(const StepFactors& factors) const {
    return [inverse = 1 / factors.rate, beta = beta, l1 = l1, l2 = l2](float gradient, float& value, float& linear, float& squares) {
      const float w = value;
      const float before = squares;
      const float after = before + gradient * gradient;
      const float root = std::sqrt(after);
      const float start = w == 0 ? 0.0f : -(w * (beta * inverse + l2) + std::copysign(l1, w));
      const float z = (before == 0 ? start : linear) + gradient - (root - std::sqrt(before)) * inverse * w;
      const float moved = std::copysign(l1, z) - z;
      const float next = std::fabs(z) <= l1 ? 0.0f : moved / ((beta + root) * inverse + l2);
      linear = after == 0 ? 0.0f : z;
      squares = after;
      value = after == 0 ? w : next;
    };
  }
};

}  // namespace

OptimizerOr MakeFtrl(const Ftrl& spec, Constants constants) {
  const float beta = constants.NotNegative("beta", spec.has_beta() ? spec.beta() : 1);
  const float l1 = constants.NotNegative("l1", spec.l1());
  return constants.Make(FtrlRule{{}, beta, l1, constants.NotNegative("l2", spec.l2())});
}

}  // namespace tessera
