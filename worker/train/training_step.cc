#include "worker/train/training_step.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/fault_point.h"
#include "common/job/utf8.h"
#include "common/learning_rate.h"
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

absl::StatusOr<TaskDone> TrainingStep::RunTask(const Task& task, ParameterClient* client) {
  TESSERA_ASSIGN_OR_RETURN(std::unique_ptr<RowStream> rows,
                           RowStream::ForTask(plan_, input_, task.epoch(), task.task(), task.first_block(), task.last_block()));
  BatchAhead batches(std::move(rows), task_batch_rows_, RareIds(plan_), on_next_);
  TaskDone done;
  done.set_task(task.task());
  TrainingBatch next;
  std::string refusal;
  for (uint64_t number = 0; !next.next.end(); ++number) {
    if (stopping_ != nullptr && stopping_->load(std::memory_order_relaxed)) return absl::CancelledError("stopped");
    TESSERA_RETURN_IF_ERROR(batches.Next(&next));
    if (next.batch.size() == 0) break;
    TESSERA_RETURN_IF_ERROR(PushBatch(task, number, done.pushes(), &next.batch, client, &refusal));
    if (!refusal.empty()) {
      done.set_refused_batches(done.refused_batches() + 1);
      done.set_refused_rows(done.refused_rows() + next.batch.size());
      done.set_refusal(refusal);
      if (done.refused_batches() > plan_.job().training().refusals_max()) break;
      continue;
    }
    done.set_rows(done.rows() + next.batch.size());
    done.set_loss(done.loss() + gradients_.loss);
    done.set_pushes(done.pushes() + 1);
  }
  return done;
}

absl::Status TrainingStep::PushBatch(const Task& task, uint64_t number, uint64_t push, Batch* batch, ParameterClient* client,
                                     std::string* refusal) {
  TESSERA_RETURN_IF_ERROR(client->Pull(*batch, /*step=*/0, /*decision=*/nullptr, /*evaluation=*/false, &values_));
  if (!values_.absent.empty()) UseRareRows(values_.absent, batch);
  const StepKey key = {plan_.job().seed(), task.task() << 32 | number, 0};
  ParameterClient::PushOptions options;
  options.task = task.task();
  options.optimizer_step = task.optimizer_step() + push * task.optimizer_step_stride();
  const std::string step = absl::StrCat("step ", options.optimizer_step, " (task ", task.task(), ", batch ", number + 1, ")");
  TESSERA_RETURN_IF_ERROR(Gradients(*batch, key, step, refusal));
  if (!refusal->empty()) return absl::OkStatus();
  options.sparse_learning_rate = LearningRate(plan_.job().optimizers().sparse());
  options.dense_learning_rate = LearningRate(plan_.job().optimizers().dense());
  options.divisor = static_cast<double>(task_batch_rows_);
  options.period = plan_.job().data().period();
  FaultPoint("worker.batch_computed");
  return client->Push(*batch, options, gradients_.rows, gradients_.dense);
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
