// One step of training, as a straight line: rows -> batch -> pull -> forward and backward -> look for non-finite -> stage or push.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "proto/coordinator.pb.h"
#include "proto/plan.pb.h"
#include "worker/client/hints.h"
#include "worker/client/parameter_client.h"
#include "worker/data/input.h"
#include "worker/model/model.h"
#include "worker/train/pace.h"
#include "worker/train/share_batches.h"

namespace tessera {

// Computes what this worker's part of the job is. Owned by one thread; what it is given outlives it.
class TrainingStep {
 public:
  // `stopping` may be null; once it is true, a task ends early with CANCELLED. `hints` hear of each batch before it is pulled; may be null.
  TrainingStep(const Plan& plan, std::shared_ptr<Input> input, CtrModel* model, const std::atomic<bool>* stopping, Hints* hints);

  // sync: one share of step decision.step + 1. On return its gradients are staged on every server; or nothing is, and the report says
  // what was not finite.
  absl::StatusOr<ShareDone> RunShare(const Decision& decision, const Assignment& share, ParameterClient* client);
  // sync: only these shares follow; streams of others are closed.
  void KeepOnly(const google::protobuf::RepeatedPtrField<Assignment>& shares) { batches_.KeepOnly(shares); }
  // async: the task's rows from first_row on, pushed batch by batch. A batch with a gradient that is not finite is left out; it ends early where
  // they are more than training.refusals_max, which ends the job. `done` counts what all servers have, also where this ends with an error; of
  // one more batch some may have a part. bounded: `pace` is kept; else it is null.
  absl::Status RunTask(const Task& task, ParameterClient* client, Pace* pace, TaskDone* done);
  // It ended in the middle of a push.
  bool pushing() const { return pushing_; }

 private:
  // Drops the next `count` rows.
  absl::Status PassOver(uint64_t count, RowStream* stream);
  // Computes the batch and pushes it, or leaves it out. `after`: how far the task is before it but for end_row, then after it.
  absl::Status PushBatch(const Task& task, Batch* batch, ParameterClient* client, TaskDone* after);
  // From values_ to gradients_. Where one is not finite, `refusal` names step, table, field, value and row: it is looked for before anything
  // is sent to any server.
  absl::Status Gradients(const Batch& batch, const StepKey& key, const std::string& step, std::string* refusal);

  const Plan& plan_;
  const std::shared_ptr<Input> input_;
  CtrModel* const model_;
  const std::atomic<bool>* const stopping_;
  const uint64_t task_batch_rows_;
  const std::function<void(const Batch&)> on_next_;
  ShareBatches batches_;
  PulledValues values_;        // reused from step to step
  ModelGradients gradients_;
  bool pushing_ = false;
};

}  // namespace tessera
