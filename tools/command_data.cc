// tessera data generate.
#include <algorithm>
#include <memory>
#include <thread>

#include "CLI/App.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/clock.h"
#include "common/status_macros.h"
#include "tools/commands.h"
#include "tools/generate.h"
#include "tools/json.h"
#include "tools/output_file.h"
#include "tools/text.h"

namespace tessera {
namespace {

struct DataFlags {
  GenerateOptions log;
  std::string output;
  int threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
};

absl::Status Generate(const DataFlags& flags, Output* output) {
  if (output->json() && flags.output == "-") {
    return UsageError(absl::InvalidArgumentError("--output -: standard output cannot have both the rows and the object of --json"));
  }
  Clock* const clock = Clock::Real();
  const absl::Time start = clock->Now();
  ThreadPool pool(flags.threads);
  TESSERA_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create(flags.output));
  uint64_t bytes = 0;
  const auto write = [&](absl::string_view lines) {
    bytes += lines.size();
    return file.Write(lines);
  };
  GenerateSummary summary;
  TESSERA_RETURN_IF_ERROR(ClickLog(flags.log, &pool).Write(write, &summary));
  TESSERA_RETURN_IF_ERROR(file.Commit());
  const double seconds = absl::ToDoubleSeconds(clock->Now() - start);
  // 0 / 0 is not a number, and becomes null.
  const double click_rate = static_cast<double>(summary.clicks) / static_cast<double>(summary.rows);
  const std::string text = absl::StrCat(flags.output, ": ", CountText(summary.rows), " rows, ", CountText(bytes), " bytes in ",
                                        TimeText(absl::Seconds(seconds)), summary.rows > 0 ? absl::StrFormat("; click rate %.4f", click_rate) : "",
                                        "\nbest possible on these rows (the planted model's): ", ScoreText(summary.best), "\n");
  // With the rows on standard output, what is for people goes to stderr.
  flags.output == "-" ? (void)std::fwrite(text.data(), 1, text.size(), stderr) : output->Text(text);
  JsonWriter json;
  json.BeginObject().Key("output").String(flags.output).Key("rows").Number(summary.rows).Key("bytes").Number(bytes);
  json.Key("click_rate").Real(click_rate).Key("best").Message(summary.best).Key("seconds").Real(seconds).EndObject();
  output->SetJson(json.Finish());
  return absl::OkStatus();
}

}  // namespace

void AddData(CommandLine* line) {
  line->Describe("data", "Make and look at data");
  auto flags = std::make_shared<DataFlags>();
  CLI::App* command = line->Add("data generate", "A click log in Criteo's layout with skewed ids and a known best AUC",
                                [flags](Output* output) { return Generate(*flags, output); });
  command->add_option("--rows", flags->log.rows, "rows to write")->required()->check(CLI::NonNegativeNumber)->type_name("N");
  command->add_option("--output", flags->output, "file to write; - is standard output")->required()->type_name("FILE");
  command
      ->add_option("--skip", flags->log.skip,
                   "rows of the endless log before the first one written: as many as the training rows for a test")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N");
  command->add_option("--seed", flags->log.seed, "another seed is another world")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber)
      ->type_name("N");
  command->add_option("--click-rate", flags->log.click_rate, "part of rows with a click")
      ->capture_default_str()
      ->check(CLI::Range(0.001, 0.999))
      ->type_name("P");
  command->add_option("--threads", flags->threads, "threads; they change no byte")->check(CLI::Range(1, 1024))->type_name("N");
}

}  // namespace tessera
