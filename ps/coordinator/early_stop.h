// When to stop and which state is best, as pure functions of the scores so far.
#pragma once

#include "proto/checkpoint.pb.h"
#include "proto/coordinator.pb.h"
#include "proto/job.pb.h"

namespace tessera {

// A smaller change of the monitored metric is noise of summation and ties, not a gain.
inline constexpr double kGainMin = 1e-6;

// Whether `now` is better than `best` by more than kGainMin: a higher AUC, a lower logloss. A score without the metric (no rows, one class
// only) is never a gain over one that has it; over one that lacks it too, the newer counts as better.
bool IsGain(Metric monitor, const Score& now, const Score& best);

// Appends an evaluation to state->report, moves `best` and best_checkpoint, counts evaluations without gain. A score without the metric
// counts neither way.
void AddEvaluation(Metric monitor, const EvaluationReport& evaluation, TrainingState* state);

// Whether evaluation.patience evaluations brought no gain. A patience of 0 never runs out.
bool OutOfPatience(const Evaluation& policy, const TrainingState& state);

}  // namespace tessera
