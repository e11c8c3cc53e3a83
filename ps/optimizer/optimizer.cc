#include "ps/optimizer/optimizer.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "ps/optimizer/adagrad.h"
#include "ps/optimizer/adam.h"
#include "ps/optimizer/sgd.h"

namespace tessera {
namespace {

constexpr double kAdagradEpsilon = 1e-10;
constexpr double kAdamBeta1 = 0.9;
constexpr double kAdamBeta2 = 0.999;
constexpr double kAdamEpsilon = 1e-8;

// Checked as float, as it is used: 0 / (0 + epsilon) must be 0, and x / (x + epsilon) not always.
bool IsPositiveFloat(double value) { return static_cast<float>(value) > 0 && std::isfinite(static_cast<float>(value)); }

absl::Status OutOfRange(absl::string_view owner, absl::string_view what, double value, absl::string_view range) {
  return absl::InvalidArgumentError(absl::StrCat(owner, ": ", what, " is ", value, ", must be ", range));
}

absl::StatusOr<std::unique_ptr<ValueOptimizer>> MakeAdagrad(const Adagrad& spec, absl::string_view owner) {
  const double initial = spec.initial_accumulator();
  const double epsilon = spec.has_epsilon() ? spec.epsilon() : kAdagradEpsilon;
  if (!(initial >= 0) || !std::isfinite(static_cast<float>(initial))) {
    return OutOfRange(owner, "adagrad.initial_accumulator", initial, "0 or more and fit a float");
  }
  if (!IsPositiveFloat(epsilon)) return OutOfRange(owner, "adagrad.epsilon", epsilon, "above 0 and fit a float");
  return std::make_unique<AdagradOptimizer>(static_cast<float>(initial), static_cast<float>(epsilon));
}

absl::StatusOr<std::unique_ptr<ValueOptimizer>> MakeAdam(const Adam& spec, absl::string_view owner) {
  const double beta1 = spec.has_beta1() ? spec.beta1() : kAdamBeta1;
  const double beta2 = spec.has_beta2() ? spec.beta2() : kAdamBeta2;
  const double epsilon = spec.has_epsilon() ? spec.epsilon() : kAdamEpsilon;
  if (!(beta1 >= 0 && beta1 < 1)) return OutOfRange(owner, "adam.beta1", beta1, "in [0, 1)");
  if (!(beta2 >= 0 && beta2 < 1)) return OutOfRange(owner, "adam.beta2", beta2, "in [0, 1)");
  if (!IsPositiveFloat(epsilon)) return OutOfRange(owner, "adam.epsilon", epsilon, "above 0 and fit a float");
  return std::make_unique<AdamOptimizer>(beta1, beta2, static_cast<float>(epsilon));
}

}  // namespace

absl::StatusOr<std::unique_ptr<ValueOptimizer>> MakeOptimizer(const Optimizer& optimizer, absl::string_view owner) {
  switch (optimizer.kind_case()) {
    case Optimizer::kSgd:
      return std::make_unique<SgdOptimizer>();
    case Optimizer::kAdagrad:
      return MakeAdagrad(optimizer.adagrad(), owner);
    case Optimizer::kAdam:
      return MakeAdam(optimizer.adam(), owner);
    default:
      break;
  }
  return absl::InvalidArgumentError(absl::StrCat(owner, ": has no optimizer; one of sgd, adagrad, adam is needed"));
}

}  // namespace tessera
