#include "tools/progress.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/partition.h"
#include "tools/text.h"

namespace tessera {
namespace {

std::string Plural(uint64_t count, const char* word) { return absl::StrCat(CountText(count), " ", word, count == 1 ? "" : "s"); }

}  // namespace

void RateMeter::Add(absl::Time now, uint64_t rows) {
  const double seconds = absl::ToDoubleSeconds(now - last_);
  if (last_ == absl::InfinitePast() || rows < rows_) {
    rate_ = 0;
  } else if (seconds < 0.5) {
    return;  // too short to tell
  } else {
    const double now_rate = static_cast<double>(rows - rows_) / seconds;
    const double weight = rate_ == 0 ? 1 : std::min(1.0, seconds / 5);
    rate_ += weight * (now_rate - rate_);
  }
  last_ = now;
  rows_ = rows;
}

std::string ProgressText(const Report& report, const Plan& plan, double rows_per_second) {
  if (report.state() != "training") return report.state();
  const uint32_t epochs = plan.job().training().epochs();
  std::string text = absl::StrCat("epoch ", std::min(report.epochs() + 1, std::max(epochs, 1u)));
  if (epochs > 1) absl::StrAppend(&text, " of at most ", epochs);
  const double rows = report.epoch_rows();
  const double done = std::min(rows, static_cast<double>(report.epoch_rows_done()));
  if (rows > 0) absl::StrAppend(&text, ", ", PercentText(done / rows));
  if (rows_per_second > 0) absl::StrAppend(&text, ", ", RateText(rows_per_second));
  if (report.has_train_logloss()) absl::StrAppend(&text, absl::StrFormat(", logloss %.5f", report.train_logloss()));
  if (rows > 0 && rows_per_second > 0 && epochs > report.epochs()) {
    const double left = rows * (epochs - report.epochs()) - done;
    absl::StrAppend(&text, ", ", epochs > 1 ? "at most " : "", TimeText(absl::Seconds(left / rows_per_second)), " left");
  }
  return text;
}

std::string EvaluationText(const EvaluationReport& evaluation) {
  std::string text =
      absl::StrCat("epoch ", evaluation.epoch(), ", step ", CountText(evaluation.step()), ": ", ScoreText(evaluation.score()));
  if (evaluation.has_train_logloss()) absl::StrAppend(&text, absl::StrFormat(", training logloss %.5f", evaluation.train_logloss()));
  return text;
}

std::string PlanText(const Plan& plan) {
  uint64_t weights = 0;
  for (const VariableSpec& variable : plan.variables()) weights += ElementCount(variable);
  const Training& training = plan.job().training();
  return absl::StrCat(plan.rows_exact() ? "" : "about ", Plural(plan.rows(), "row"), " in ", Plural(plan.train_size(), "file"), ", ",
                      Plural(plan.schema().fields_size(), "field"), ", ", Plural(weights, "dense weight"), "; ",
                      ModelType_Name(plan.job().model().type()), " of dim ", plan.job().model().embedding_dim(), ", ",
                      Mode_Name(training.mode()), ", batch ", CountText(training.batch_size()), ", ",
                      training.epochs() == 1 ? "1 epoch" : absl::StrCat("at most ", training.epochs(), " epochs"));
}

}  // namespace tessera
