// tessera predict: one probability per input row, in input order.
#include <cstdio>
#include <memory>

#include "CLI/App.hpp"
#include "absl/strings/str_cat.h"
#include "common/score.h"
#include "common/status_macros.h"
#include "tools/checkpoint_flags.h"
#include "tools/commands.h"
#include "tools/json.h"
#include "tools/loaded_model.h"
#include "tools/output_file.h"
#include "tools/prediction_text.h"
#include "tools/text.h"

namespace tessera {
namespace {

struct PredictFlags {
  CheckpointFlags checkpoint;
  std::string output;
};

// One run of rows as lines.
std::string Lines(const ScoredRows& run) {
  const size_t columns = run.rows.kept.size() / run.rows.size();
  std::string lines;
  for (size_t i = 0; i < run.logits.size(); ++i) {
    AppendPrediction(absl::MakeConstSpan(run.rows.kept).subspan((run.begin + i) * columns, columns), Sigmoid(run.logits[i]), &lines);
  }
  return lines;
}

absl::Status Predict(const PredictFlags& flags, Output* output) {
  if (output->json() && flags.output == "-") {
    return UsageError(absl::InvalidArgumentError("--output -: standard output cannot have both the predictions and the object of --json"));
  }
  TESSERA_ASSIGN_OR_RETURN(const std::unique_ptr<LoadedModel> model,
                           LoadedModel::Load(flags.checkpoint.checkpoint, flags.checkpoint.threads, flags.checkpoint.batch_rows, Clock::Real()));
  const ReadOptions options{.labels = false, .kept = model->plan().job().data().keep_size() > 0};
  TESSERA_ASSIGN_OR_RETURN(const std::unique_ptr<Input> input, OpenFiles(model->plan(), flags.checkpoint.data, options));
  TESSERA_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create(flags.output));
  uint64_t rows = 0;
  TESSERA_RETURN_IF_ERROR(model->Score(input.get(), nullptr, [&](const ScoredRows& run) {
    rows += run.logits.size();
    return file.Write(Lines(run));
  }));
  TESSERA_RETURN_IF_ERROR(file.Commit());
  if (flags.output != "-") output->Text(absl::StrCat(flags.output, ": ", CountText(rows), " predictions by ", model->folder(), "\n"));
  JsonWriter json;
  json.BeginObject().Key("output").String(flags.output).Key("rows").Number(rows).Key("checkpoint").String(model->folder()).EndObject();
  output->SetJson(json.Finish());
  return absl::OkStatus();
}

}  // namespace

void AddPredict(CommandLine* line) {
  auto flags = std::make_shared<PredictFlags>();
  CLI::App* command = line->Add("predict", "One probability per row, in the order of the rows; labels are not needed",
                                [flags](Output* output) { return Predict(*flags, output); });
  AddCheckpointFlags(command, true, &flags->checkpoint);
  command->add_option("--output", flags->output, "file to write; - is standard output")->required()->type_name("FILE");
}

}  // namespace tessera
