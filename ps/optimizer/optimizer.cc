#include "ps/optimizer/optimizer.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "ps/optimizer/optimizers.h"

namespace tessera {

void Constants::Refuse(absl::string_view name, double value, absl::string_view range) {
  status_.Update(absl::InvalidArgumentError(absl::StrCat(owner_, ": ", kind_, ".", name, " is ", value, ", must be ", range)));
}

float Constants::NotNegative(absl::string_view name, double value) {
  if (!(value >= 0 && std::isfinite(static_cast<float>(value)))) Refuse(name, value, "0 or more and fit a float");
  return static_cast<float>(value);
}

float Constants::Positive(absl::string_view name, double value) {
  // Checked as float, as it is used: 0 / (0 + epsilon) must be 0, and x / (x + epsilon) not always.
  const float used = static_cast<float>(value);
  if (!(used > 0 && std::isfinite(used))) Refuse(name, value, "above 0 and fit a float");
  return used;
}

double Constants::BelowOne(absl::string_view name, double value) {
  if (!(value >= 0 && value < 1)) Refuse(name, value, "in [0, 1)");
  return value;
}

absl::StatusOr<std::unique_ptr<ValueOptimizer>> MakeOptimizer(const Optimizer& optimizer, absl::string_view owner) {
  const auto constants = [&](absl::string_view kind) { return Constants(owner, kind); };
  switch (optimizer.kind_case()) {
    case Optimizer::kSgd:
      return MakeSgd(optimizer.sgd(), constants("sgd"));
    case Optimizer::kMomentum:
      return MakeMomentum(optimizer.momentum(), constants("momentum"));
    case Optimizer::kAdagrad:
      return MakeAdagrad(optimizer.adagrad(), constants("adagrad"));
    case Optimizer::kRowwiseAdagrad:
      return MakeRowwiseAdagrad(optimizer.rowwise_adagrad(), constants("rowwise_adagrad"));
    case Optimizer::kAdam:
      return MakeAdam(optimizer.adam(), constants("adam"));
    case Optimizer::kAdamw:
      return MakeAdamW(optimizer.adamw(), constants("adamw"));
    case Optimizer::kFtrl:
      return MakeFtrl(optimizer.ftrl(), constants("ftrl"));
    case Optimizer::KIND_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError(
      absl::StrCat(owner, ": has no optimizer; one of sgd, momentum, adagrad, rowwise_adagrad, adam, adamw, ftrl is needed"));
}

}  // namespace tessera
