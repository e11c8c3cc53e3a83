// tessera bench step: this machine's figures for the training step.
#include <algorithm>
#include <memory>
#include <thread>

#include "CLI/App.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/status_macros.h"
#include "tools/bench_store.h"
#include "tools/commands.h"
#include "tools/json.h"
#include "tools/text.h"
#include "worker/compute/cpu/cpu_backend.h"

namespace tessera {
namespace {

struct BenchFlags {
  StepBenchOptions bench;
  int threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
};

std::string ResultText(const StepBenchResult& r, const BenchFlags& flags) {
  std::string text = absl::StrFormat("one step of %s rows, 39 fields of dim 16, MLP 400-400-400, %d threads; medians of %d pairs\n",
                                     CountText(r.rows).c_str(), flags.threads, flags.bench.pairs);
  const auto line = [&text](const char* what, double ms) { absl::StrAppendFormat(&text, "  %-34s %9.3f ms\n", what, ms); };
  line("batch (ids made unique)", r.batch_ms);
  line("pull", r.pull_ms);
  line("forward and backward", r.train_ms);
  line("push", r.push_ms);
  line("step", r.step_ms);
  line("its matrix products alone", r.products_ms);
  absl::StrAppend(&text, PercentText(r.step_ratio), " of the step is matrix products (", PercentText(r.train_ratio),
                  " of forward and backward); ", CountText(r.unique_ids), " unique ids of ", CountText(uint64_t{r.rows} * 26), "\n",
                  RateText(r.examples_per_second), "\n");
  return text;
}

std::string ResultJson(const StepBenchResult& r, const BenchFlags& flags) {
  JsonWriter json;
  json.BeginObject().Key("rows").Number(r.rows).Key("unique_ids").Number(r.unique_ids);
  json.Key("threads").SignedNumber(flags.threads).Key("pairs").Number(flags.bench.pairs);
  const auto put = [&json](const char* name, double value) { json.Key(name).Real(value); };
  put("batch_ms", r.batch_ms);
  put("pull_ms", r.pull_ms);
  put("train_ms", r.train_ms);
  put("push_ms", r.push_ms);
  put("step_ms", r.step_ms);
  put("products_ms", r.products_ms);
  put("step_ratio", r.step_ratio);
  put("train_ratio", r.train_ratio);
  put("examples_per_second", r.examples_per_second);
  return json.EndObject().Finish();
}

absl::Status BenchStep(const BenchFlags& flags, Output* output) {
  ThreadPool pool(flags.threads);
  TESSERA_ASSIGN_OR_RETURN(const Plan plan, StepBenchPlan());
  TESSERA_ASSIGN_OR_RETURN(const std::unique_ptr<BenchStore> store, BenchStore::Open(plan, &pool, Clock::Real()));
  const std::unique_ptr<Backend> backend = MakeCpuBackend(&pool);
  TESSERA_ASSIGN_OR_RETURN(const StepBenchResult result, RunStepBench(plan, store->Functions(), flags.bench, backend.get()));
  output->Text(ResultText(result, flags));
  output->SetJson(ResultJson(result, flags));
  return absl::OkStatus();
}

}  // namespace

void AddBench(CommandLine* line) {
  line->Describe("bench", "This machine's figures");
  auto flags = std::make_shared<BenchFlags>();
  CLI::App* step = line->Add("bench step", "A whole training step beside its matrix products alone",
                             [flags](Output* output) { return BenchStep(*flags, output); });
  step->add_option("--rows", flags->bench.rows, "rows of a step")->check(CLI::Range(1, 1 << 20))->capture_default_str()->type_name("N");
  step->add_option("--pairs", flags->bench.pairs, "steps measured")->check(CLI::Range(1, 100000))->capture_default_str()->type_name("N");
  step->add_option("--threads", flags->threads, "compute threads; default: all cores")->check(CLI::Range(1, 1024))->type_name("N");
}

}  // namespace tessera
