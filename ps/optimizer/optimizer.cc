#include "ps/optimizer/optimizer.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "ps/optimizer/adagrad.h"
#include "ps/optimizer/adam.h"
#include "ps/optimizer/ftrl.h"
#include "ps/optimizer/momentum.h"
#include "ps/optimizer/rowwise_adagrad.h"
#include "ps/optimizer/sgd.h"

namespace tessera {
namespace {

constexpr double kAdagradEpsilon = 1e-10;
constexpr double kMomentum = 0.9;
constexpr double kFtrlBeta = 1;
constexpr double kAdamWDecay = 0.01;
constexpr double kAdamBeta1 = 0.9;
constexpr double kAdamBeta2 = 0.999;
constexpr double kAdamEpsilon = 1e-8;

// Checked as float, as it is used: 0 / (0 + epsilon) must be 0, and x / (x + epsilon) not always.
bool IsPositiveFloat(double value) { return static_cast<float>(value) > 0 && std::isfinite(static_cast<float>(value)); }

absl::Status OutOfRange(absl::string_view owner, absl::string_view what, double value, absl::string_view range) {
  return absl::InvalidArgumentError(absl::StrCat(owner, ": ", what, " is ", value, ", must be ", range));
}

absl::Status CheckNotNegative(absl::string_view owner, absl::string_view what, double value) {
  if (value >= 0 && std::isfinite(static_cast<float>(value))) return absl::OkStatus();
  return OutOfRange(owner, what, value, "0 or more and fit a float");
}

// Adagrad and its row-wise kind have the same constants.
template <class T, class Spec>
absl::StatusOr<std::unique_ptr<ValueOptimizer>> MakeAdagrad(const Spec& spec, const std::string& kind, absl::string_view owner) {
  const double initial = spec.initial_accumulator();
  const double epsilon = spec.has_epsilon() ? spec.epsilon() : kAdagradEpsilon;
  TESSERA_RETURN_IF_ERROR(CheckNotNegative(owner, kind + ".initial_accumulator", initial));
  TESSERA_RETURN_IF_ERROR(CheckNotNegative(owner, kind + ".l2", spec.l2()));
  if (!IsPositiveFloat(epsilon)) return OutOfRange(owner, kind + ".epsilon", epsilon, "above 0 and fit a float");
  return std::make_unique<T>(static_cast<float>(initial), static_cast<float>(epsilon), static_cast<float>(spec.l2()));
}

template <class Spec>
absl::StatusOr<std::unique_ptr<ValueOptimizer>> MakeAdam(const Spec& spec, const std::string& kind, double l2, double weight_decay,
                                                         absl::string_view owner) {
  const double beta1 = spec.has_beta1() ? spec.beta1() : kAdamBeta1;
  const double beta2 = spec.has_beta2() ? spec.beta2() : kAdamBeta2;
  const double epsilon = spec.has_epsilon() ? spec.epsilon() : kAdamEpsilon;
  if (!(beta1 >= 0 && beta1 < 1)) return OutOfRange(owner, kind + ".beta1", beta1, "in [0, 1)");
  if (!(beta2 >= 0 && beta2 < 1)) return OutOfRange(owner, kind + ".beta2", beta2, "in [0, 1)");
  if (!IsPositiveFloat(epsilon)) return OutOfRange(owner, kind + ".epsilon", epsilon, "above 0 and fit a float");
  return std::make_unique<AdamOptimizer>(beta1, beta2, static_cast<float>(epsilon), static_cast<float>(l2), weight_decay);
}

absl::StatusOr<std::unique_ptr<ValueOptimizer>> MakeMomentum(const Momentum& spec, absl::string_view owner) {
  const double momentum = spec.has_momentum() ? spec.momentum() : kMomentum;
  if (!(momentum >= 0 && momentum < 1)) return OutOfRange(owner, "momentum.momentum", momentum, "in [0, 1)");
  TESSERA_RETURN_IF_ERROR(CheckNotNegative(owner, "momentum.l2", spec.l2()));
  return std::make_unique<MomentumOptimizer>(static_cast<float>(momentum), static_cast<float>(spec.l2()));
}

absl::StatusOr<std::unique_ptr<ValueOptimizer>> MakeFtrl(const Ftrl& spec, absl::string_view owner) {
  const double beta = spec.has_beta() ? spec.beta() : kFtrlBeta;
  TESSERA_RETURN_IF_ERROR(CheckNotNegative(owner, "ftrl.beta", beta));
  TESSERA_RETURN_IF_ERROR(CheckNotNegative(owner, "ftrl.l1", spec.l1()));
  TESSERA_RETURN_IF_ERROR(CheckNotNegative(owner, "ftrl.l2", spec.l2()));
  return std::make_unique<FtrlOptimizer>(static_cast<float>(beta), static_cast<float>(spec.l1()), static_cast<float>(spec.l2()));
}

}  // namespace

absl::StatusOr<std::unique_ptr<ValueOptimizer>> MakeOptimizer(const Optimizer& optimizer, absl::string_view owner) {
  switch (optimizer.kind_case()) {
    case Optimizer::kSgd:
      TESSERA_RETURN_IF_ERROR(CheckNotNegative(owner, "sgd.l2", optimizer.sgd().l2()));
      return std::make_unique<SgdOptimizer>(static_cast<float>(optimizer.sgd().l2()));
    case Optimizer::kMomentum:
      return MakeMomentum(optimizer.momentum(), owner);
    case Optimizer::kFtrl:
      return MakeFtrl(optimizer.ftrl(), owner);
    case Optimizer::kRowwiseAdagrad:
      return MakeAdagrad<RowwiseAdagradOptimizer>(optimizer.rowwise_adagrad(), "rowwise_adagrad", owner);
    case Optimizer::kAdagrad:
      return MakeAdagrad<AdagradOptimizer>(optimizer.adagrad(), "adagrad", owner);
    case Optimizer::kAdam:
      TESSERA_RETURN_IF_ERROR(CheckNotNegative(owner, "adam.l2", optimizer.adam().l2()));
      return MakeAdam(optimizer.adam(), "adam", optimizer.adam().l2(), 0, owner);
    case Optimizer::kAdamw: {
      const double decay = optimizer.adamw().has_weight_decay() ? optimizer.adamw().weight_decay() : kAdamWDecay;
      TESSERA_RETURN_IF_ERROR(CheckNotNegative(owner, "adamw.weight_decay", decay));
      return MakeAdam(optimizer.adamw(), "adamw", 0, decay, owner);
    }
    default:
      break;
  }
  return absl::InvalidArgumentError(absl::StrCat(owner, ": has no optimizer; one of sgd, momentum, adagrad, rowwise_adagrad, adam, adamw, ftrl is needed"));
}

}  // namespace tessera
