// tessera evaluate: the scores of a checkpoint on labelled rows.
#include <memory>

#include "CLI/App.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/score.h"
#include "common/status_macros.h"
#include "tools/checkpoint_flags.h"
#include "tools/commands.h"
#include "tools/json.h"
#include "tools/loaded_model.h"
#include "tools/text.h"
#include "worker/batch/row_stream.h"

namespace tessera {
namespace {

// What is scored: the files given, else the job's evaluation files, else the rows it held out.
struct Subject {
  std::string name;
  std::unique_ptr<Input> input;
  std::function<bool(uint64_t)> wanted;
};

absl::StatusOr<Subject> ChooseSubject(const Plan& plan, const std::vector<std::string>& data) {
  Subject subject;
  if (!data.empty()) {
    subject.name = "files";
    TESSERA_ASSIGN_OR_RETURN(subject.input, OpenFiles(plan, data, ReadOptions()));
  } else if (plan.evaluate_size() > 0) {
    subject.name = "evaluation files";
    TESSERA_ASSIGN_OR_RETURN(subject.input, Input::Open(plan, plan.evaluate(), ReadOptions()));
  } else if (plan.job().data().evaluate().holdout() > 0) {
    subject.name = "held-out rows";
    TESSERA_ASSIGN_OR_RETURN(subject.input, Input::Open(plan, plan.train(), ReadOptions()));
    subject.wanted = [&plan](uint64_t key) { return IsHeldOut(plan, key); };
  } else {
    return UsageError(
        absl::InvalidArgumentError("--data: the job has neither evaluation files nor held-out rows; name the files to score"));
  }
  return subject;
}

absl::Status Evaluate(const CheckpointFlags& flags, Output* output) {
  TESSERA_ASSIGN_OR_RETURN(const std::unique_ptr<LoadedModel> model, LoadedModel::Load(flags.checkpoint, flags.threads, flags.batch_rows, Clock::Real()));
  TESSERA_ASSIGN_OR_RETURN(const Subject subject, ChooseSubject(model->plan(), flags.data));
  ScoreCounter counter;
  TESSERA_RETURN_IF_ERROR(model->Score(subject.input.get(), subject.wanted, [&counter](const ScoredRows& rows) {
    counter.Add(rows.block, rows.logits, rows.labels());
    return absl::OkStatus();
  }));
  const Score score = counter.Finish();
  output->Text(absl::StrCat(subject.name, ": ", ScoreText(score), "\n"));
  if (score.has_calibration()) output->Text(absl::StrFormat("calibration %.4f (mean prediction / mean label)\n", score.calibration()));
  if (score.has_normalized_entropy())
    output->Text(absl::StrFormat("normalized entropy %.4f (below 1: better than the click rate alone)\n", score.normalized_entropy()));
  output->Text(absl::StrCat("checkpoint ", model->folder(), "\n"));
  JsonWriter json;
  json.BeginObject().Fields(score).Key("data").String(subject.name).Key("checkpoint").String(model->folder());
  json.Key("step").Number(model->manifest().step()).EndObject();
  output->SetJson(json.Finish());
  return absl::OkStatus();
}

}  // namespace

void AddEvaluate(CommandLine* line) {
  auto flags = std::make_shared<CheckpointFlags>();
  AddCheckpointFlags(
      line->Add("evaluate", "Score a checkpoint on labelled rows: AUC, logloss, calibration; default: the job's evaluation data",
                [flags](Output* output) { return Evaluate(*flags, output); }),
      false, flags.get());
}

}  // namespace tessera
