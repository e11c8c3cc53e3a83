#include "tools/summary.h"

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "common/staleness.h"
#include "tools/json.h"
#include "tools/text.h"

namespace tessera {
namespace {

// Relative to the current folder where that is shorter: easier to type.
std::string Shortened(const std::string& path) {
  std::error_code error;
  const std::string relative = std::filesystem::relative(path, error).string();
  return error || relative.empty() || relative.size() >= path.size() ? path : relative;
}

std::string StalenessText(const Report& report) {
  Staleness all;
  for (const WorkerStaleness& worker : report.staleness()) Add(worker.staleness(), &all);
  if (Gradients(all) == 0) return "";
  return absl::StrFormat("  staleness   gradients are %.2f batches behind, at most %d; counts by worker: --json\n", Mean(all), all.max());
}

std::string HappenedText(const Report& report) {
  std::vector<std::string> parts;
  if (report.workers_lost() > 0) parts.push_back(absl::StrCat(report.workers_lost(), " lost"));
  if (report.workers_left() > 0) parts.push_back(absl::StrCat(report.workers_left(), " left"));
  if (report.shares_again() > 0) parts.push_back(absl::StrCat("others took over ", report.shares_again(), " shares"));
  if (report.rows_twice() > 0) parts.push_back(absl::StrCat(CountText(report.rows_twice()), " rows were trained twice"));
  return parts.empty() ? "" : absl::StrCat("  workers     ", absl::StrJoin(parts, ", "), "\n");
}

double Rate(const Report& report) { return report.seconds() > 0 ? static_cast<double>(report.rows()) / report.seconds() : 0; }

}  // namespace

std::string SummaryJson(const Report& report, const absl::Status& status, const RunFolder& folder) {
  JsonWriter json;
  json.BeginObject().Fields(report, {"plan"});
  json.Key("examples_per_second");
  report.rows() > 0 && report.seconds() > 0 ? json.Real(Rate(report)) : json.Null();
  json.Key("run").String(folder.path()).Key("error");
  status.ok() ? json.Null() : json.String(std::string(status.message()));
  return json.EndObject().Finish();
}

std::string SummaryText(const Report& report, const Plan& plan, const RunFolder& folder, const std::string& again) {
  std::string text;
  const std::string checkpoint = Shortened(report.checkpoint());
  if (report.was_finished()) {
    absl::StrAppend(&text, report.job(), " was finished before: nothing to do. Train it anew with ", again, " --fresh\n");
  } else {
    absl::StrAppend(&text, report.job(), ": trained on ", CountText(report.rows()), " rows in ", TimeText(absl::Seconds(report.seconds())),
                    " (", RateText(Rate(report)), "), ", CountText(report.total_steps()), " steps, ", report.epochs(),
                    report.epochs() == 1 ? " epoch" : " epochs", "\n");
  }
  if (report.refused_batches() > 0) {
    absl::StrAppend(&text, "  left out    ", CountText(report.refused_batches()), " batches of ", CountText(report.refused_rows()),
                    " rows, in all runs: their gradients were not finite\n");
  }
  absl::StrAppend(&text, StalenessText(report), HappenedText(report));
  if (report.has_evaluation()) {
    absl::StrAppend(&text, "  ", plan.evaluate_size() > 0 ? "test files  " : "held-out    ", ScoreText(report.evaluation()), "\n");
  }
  absl::StrAppend(&text, "  checkpoint  ", checkpoint, "\n", "  this run    ", folder.path(), "\n");
  absl::StrAppend(&text, "Next:\n  tessera predict --checkpoint ", checkpoint, " --data FILE --output predictions.csv\n",
                  "  tessera evaluate --checkpoint ", checkpoint, " --data FILE\n");
  return text;
}

}  // namespace tessera
