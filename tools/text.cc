#include "tools/text.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace tessera {
namespace {

// Three significant digits: more would pretend.
uint64_t Rounded(double value) {
  if (!(value > 0)) return 0;
  const double unit = std::pow(10, std::max(0.0, std::floor(std::log10(value)) - 2));
  return static_cast<uint64_t>(std::llround(value / unit) * unit);
}

}  // namespace

std::string CountText(uint64_t count) {
  std::string text = absl::StrCat(count);
  for (int at = static_cast<int>(text.size()) - 3; at > 0; at -= 3) text.insert(at, ",");
  return text;
}

std::string RateText(double rows_per_second) { return absl::StrCat(CountText(Rounded(rows_per_second)), " rows/s"); }

std::string TimeText(absl::Duration duration) {
  const double seconds = std::max(0.0, absl::ToDoubleSeconds(duration));
  if (seconds < 59.95) return absl::StrFormat("%.1f s", seconds);
  const int64_t whole = std::llround(seconds);
  if (whole < 3600) return absl::StrFormat("%d min %d s", whole / 60, whole % 60);
  return absl::StrFormat("%d h %d min", whole / 3600, whole % 3600 / 60);
}

std::string PercentText(double part) { return absl::StrFormat("%.0f %%", 100 * std::clamp(part, 0.0, 1.0)); }

std::string ScoreText(const Score& score) {
  if (score.rows() == 0) return "no rows to score";
  const std::string auc = score.has_auc() ? absl::StrFormat("AUC %.5f", score.auc()) : "no AUC (rows of one class only)";
  return absl::StrFormat("%s, logloss %.5f on %s rows", auc, score.logloss(), CountText(score.rows()));
}

}  // namespace tessera
