// A worker's part of an evaluation: some blocks of the input, scored and counted.
#pragma once

#include "absl/status/statusor.h"
#include "proto/coordinator.pb.h"
#include "proto/plan.pb.h"
#include "worker/data/input.h"
#include "worker/train/scoring.h"

namespace tessera {

// Scores the blocks b of `input` with b mod task.parts == task.part: of the training files the held-out rows if task.holdout is set, of
// the evaluation files all rows. Counts of all parts together give the same score at any number of parts. Thread-compatible.
absl::StatusOr<EvaluationDone> Evaluate(const Plan& plan, const EvaluationTask& task, Input* input, Scorer* scorer);

}  // namespace tessera
