#include "worker/train/training_step.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/fault_point.h"
#include "common/job/utf8.h"
#include "common/learning_rate.h"
#include "common/staleness.h"
#include "common/status_macros.h"
#include "worker/batch/rare_rows.h"
#include "worker/train/batch_ahead.h"

namespace tessera {
namespace {

uint64_t TaskBatchRows(const Training& training) {
  const uint64_t workers = training.workers();
  return (training.batch_size() + workers - 1) / workers;
}

std::function<void(const Batch&)> HintsOf(Hints* hints) {
  if (hints == nullptr) return nullptr;
  return [hints](const Batch& batch) { hints->Offer(batch); };
}

}  // namespace

TrainingStep::TrainingStep(const Plan& plan, std::shared_ptr<Input> input, CtrModel* model, const std::atomic<bool>* stopping,
                           Hints* hints)
    : plan_(plan),
      input_(input),
      model_(model),
      stopping_(stopping),
      task_batch_rows_(TaskBatchRows(plan.job().training())),
      on_next_(HintsOf(hints)),
      batches_(plan, std::move(input), on_next_) {}

absl::StatusOr<ShareDone> TrainingStep::RunShare(const Decision& decision, const Assignment& share, ParameterClient* client) {
  const uint64_t step = decision.step() + 1;
  TrainingBatch next;
  TESSERA_RETURN_IF_ERROR(batches_.Next(share, &next));
  Batch& batch = next.batch;
  TESSERA_RETURN_IF_ERROR(client->Pull(batch, step, &decision, /*evaluation=*/false, &values_));
  if (!values_.absent.empty()) UseRareRows(values_.absent, &batch);
  const StepKey key = {plan_.job().seed(), step, static_cast<uint64_t>(share.share()) << 32};
  ShareDone done;
  done.set_step(step);
  done.set_share(share.share());
  *done.mutable_position() = next.next;
  TESSERA_RETURN_IF_ERROR(Gradients(batch, key, absl::StrCat("step ", step), done.mutable_refusal()));
  if (!done.refusal().empty()) {
    done.set_refused_rows(batch.size());
    return done;
  }
  FaultPoint("worker.share_computed");
  TESSERA_RETURN_IF_ERROR(client->Stage(batch, step, decision, share.share(), gradients_.rows, gradients_.dense));
  done.set_rows(batch.size());
  done.set_loss(gradients_.loss);
  return done;
}

absl::Status TrainingStep::RunTask(const Task& task, ParameterClient* client, Pace* pace, TaskDone* done) {
  pushing_ = false;
  done->Clear();
  done->set_task(task.task());
  TESSERA_ASSIGN_OR_RETURN(std::unique_ptr<RowStream> rows,
                           RowStream::ForTask(plan_, input_, task.epoch(), task.task(), task.first_block(), task.last_block()));
  TESSERA_RETURN_IF_ERROR(PassOver(task.first_row(), rows.get()));
  done->set_end_row(task.first_row());
  BatchAhead batches(std::move(rows), task_batch_rows_, RareIds(plan_), on_next_);
  TrainingBatch next;
  while (!next.next.end()) {
    if (stopping_ != nullptr && stopping_->load(std::memory_order_relaxed)) return absl::CancelledError("stopped");
    TESSERA_RETURN_IF_ERROR(batches.Next(&next));
    if (next.batch.size() == 0) break;
    if (pace != nullptr) TESSERA_RETURN_IF_ERROR(pace->Await());
    TaskDone after = *done;
    after.set_end_row(done->end_row() + next.batch.size());
    TESSERA_RETURN_IF_ERROR(PushBatch(task, &next.batch, client, &after));
    done->Swap(&after);
    if (pace != nullptr) pace->Count();
    if (done->refused_batches() > plan_.job().training().refusals_max()) break;
  }
  return absl::OkStatus();
}

absl::Status TrainingStep::PassOver(uint64_t count, RowStream* stream) {
  Rows rows;
  Position next;
  while (count > 0 && !next.end()) {
    TESSERA_RETURN_IF_ERROR(stream->Next(std::min(count, task_batch_rows_), &rows, &next));
    if (rows.size() == 0) break;
    count -= rows.size();
  }
  return absl::OkStatus();
}

absl::Status TrainingStep::PushBatch(const Task& task, Batch* batch, ParameterClient* client, TaskDone* after) {
  TESSERA_RETURN_IF_ERROR(client->Pull(*batch, /*step=*/0, /*decision=*/nullptr, /*evaluation=*/false, &values_));
  if (!values_.absent.empty()) UseRareRows(values_.absent, batch);
  // A task's batches all have as many rows, but for the last one: whoever goes on with it counts on.
  const uint64_t number = (after->end_row() - 1) / task_batch_rows_;
  const StepKey key = {plan_.job().seed(), task.task() << 32 | number, 0};
  ParameterClient::PushOptions options;
  options.optimizer_step = task.optimizer_step() + after->pushes() * task.optimizer_step_stride();
  const std::string step = absl::StrCat("step ", options.optimizer_step, " (task ", task.task(), ", batch ", number + 1, ")");
  std::string refusal;
  TESSERA_RETURN_IF_ERROR(Gradients(*batch, key, step, &refusal));
  if (!refusal.empty()) {
    after->set_refused_batches(after->refused_batches() + 1);
    after->set_refused_rows(after->refused_rows() + batch->size());
    after->set_refusal(refusal);
    return absl::OkStatus();
  }
  after->set_rows(after->rows() + batch->size());
  after->set_loss(after->loss() + gradients_.loss);
  after->set_pushes(after->pushes() + 1);
  options.task_done = *after;
  options.task_done.clear_refusal();
  options.sparse_learning_rate = LearningRate(plan_.job().optimizers().sparse());
  options.dense_learning_rate = LearningRate(plan_.job().optimizers().dense());
  options.divisor = static_cast<double>(task_batch_rows_);
  options.period = plan_.job().data().period();
  options.compensate = plan_.job().training().compensate_staleness();
  FaultPoint("worker.batch_computed");
  pushing_ = true;
  uint64_t staleness = 0;
  TESSERA_RETURN_IF_ERROR(client->Push(*batch, options, gradients_.rows, gradients_.dense, &staleness));
  pushing_ = false;
  Count(staleness, after->mutable_staleness());
  FaultPoint("worker.batch_pushed");
  return absl::OkStatus();
}

absl::Status TrainingStep::Gradients(const Batch& batch, const StepKey& key, const std::string& step, std::string* refusal) {
  refusal->clear();
  if (batch.size() == 0) {  // a share without rows still takes part in the step
    gradients_.rows.clear();
    gradients_.dense.assign(values_.dense.size(), 0.0f);
    gradients_.loss = 0;
    return absl::OkStatus();
  }
  TESSERA_RETURN_IF_ERROR(model_->Train(batch, {values_.rows, values_.dense}, key, &gradients_));
  size_t row = 0;
  const std::string what = FindNonFinite(plan_, batch, gradients_, &row);
  if (what.empty()) return absl::OkStatus();
  *refusal = ToUtf8(absl::StrCat(step, ": the model diverged: ", what, "; see the row at ", input_->Where(batch.rows.keys[row]),
                                 ", one of a batch of ", batch.size(),
                                 ". A lower learning rate (optimizers.sparse, optimizers.dense) often helps"));
  return absl::OkStatus();
}

}  // namespace tessera
