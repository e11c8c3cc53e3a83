#include "worker/plan/survey.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/job/utf8.h"
#include "common/status_macros.h"

namespace tessera {
namespace {

absl::Status NotANumber(const SurveyReader& reader, const std::string& column, const SurveyCell& cell) {
  return absl::InvalidArgumentError(absl::StrCat(
      reader.Where(), ": column ", column, ": \"", Excerpt(cell.text), "\" is not a number; ",
      "if the column is not a measure give it a rule \"as: categorical\", if this means \"no value\" add it to data.csv.missing"));
}

}  // namespace

absl::StatusOr<Survey> TakeSurvey(SurveyReader* reader, std::vector<ColumnSample> columns, uint64_t rows_max) {
  Survey survey;
  survey.columns = std::move(columns);
  uint64_t first_positives = 0;
  SurveyRow row;
  while (survey.rows < rows_max) {
    TESSERA_ASSIGN_OR_RETURN(const bool there, reader->Next(&row));
    if (!there) {
      survey.complete = true;
      break;
    }
    for (size_t i = 0; i < survey.columns.size(); ++i) {
      if (!survey.columns[i].Add(row.cells[i])) return NotANumber(*reader, reader->columns()[i], row.cells[i]);
    }
    survey.fields.Add(row.entries);
    const bool positive = row.label == 1;
    survey.positives += positive;
    if (survey.rows < kClickRateRows) first_positives += positive;
    ++survey.rows;
    survey.bytes += row.bytes;
  }
  const double first_rows = static_cast<double>(std::min(survey.rows, kClickRateRows));
  if (first_rows > 0) survey.click_rate = std::clamp(first_positives / first_rows, 0.5 / first_rows, 1 - 0.5 / first_rows);
  return survey;
}

uint64_t EstimateRows(const Survey& survey, uint64_t plain_bytes) {
  if (survey.complete || survey.bytes == 0) return survey.rows;
  const double bytes_per_row = static_cast<double>(survey.bytes) / static_cast<double>(survey.rows);
  return std::max(survey.rows, static_cast<uint64_t>(std::llround(static_cast<double>(plain_bytes) / bytes_per_row)));
}

}  // namespace tessera
