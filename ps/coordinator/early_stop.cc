#include "ps/coordinator/early_stop.h"

#include <optional>

namespace tessera {
namespace {

// The monitored metric so that more is better.
std::optional<double> Goodness(Metric monitor, const Score& score) {
  if (monitor == logloss) return score.has_logloss() ? std::optional<double>(-score.logloss()) : std::nullopt;
  return score.has_auc() ? std::optional<double>(score.auc()) : std::nullopt;
}

}  // namespace

bool IsGain(Metric monitor, const Score& now, const Score& best) {
  const std::optional<double> new_value = Goodness(monitor, now);
  const std::optional<double> best_value = Goodness(monitor, best);
  if (!best_value.has_value()) return true;
  return new_value.has_value() && *new_value > *best_value + kGainMin;
}

void AddEvaluation(Metric monitor, const EvaluationReport& evaluation, TrainingState* state) {
  Report& report = *state->mutable_report();
  const bool gain =
      !report.has_best() || IsGain(monitor, evaluation.score(), report.evaluations(static_cast<int>(report.best())).score());
  *report.add_evaluations() = evaluation;
  if (gain) {
    report.set_best(static_cast<uint64_t>(report.evaluations_size()) - 1);
    state->set_best_checkpoint(evaluation.checkpoint());
    state->set_evaluations_without_gain(0);
  } else if (Goodness(monitor, evaluation.score()).has_value()) {
    state->set_evaluations_without_gain(state->evaluations_without_gain() + 1);
  }
}

bool OutOfPatience(const Evaluation& policy, const TrainingState& state) {
  return policy.patience() > 0 && state.evaluations_without_gain() >= policy.patience();
}

}  // namespace tessera
