#include "worker/train/evaluation.h"

#include <vector>

#include "common/score.h"
#include "common/status_macros.h"
#include "worker/batch/row_stream.h"

namespace tessera {

absl::StatusOr<EvaluationDone> Evaluate(const Plan& plan, const EvaluationTask& task, Input* input, Scorer* scorer) {
  std::vector<uint64_t> blocks;
  for (uint64_t block = task.part(); block < input->block_count(); block += task.parts()) blocks.push_back(block);
  std::function<bool(uint64_t)> wanted;
  if (task.holdout()) wanted = [&plan](uint64_t key) { return IsHeldOut(plan, key); };
  Scorer::Version version;
  if (task.has_decision()) version = {task.decision().step() + 1, &task.decision()};
  ScoreCounter counter;
  TESSERA_RETURN_IF_ERROR(scorer->Score(input, std::move(blocks), std::move(wanted), version, [&](const ScoredRows& run) {
    counter.Add(run.block, run.logits, run.labels());
    return absl::OkStatus();
  }));
  EvaluationDone done;
  done.set_evaluation(task.evaluation());
  done.set_part(task.part());
  counter.Encode(done.mutable_counts());
  return done;
}

}  // namespace tessera
