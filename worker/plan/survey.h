// The first rows of the training files, counted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/data/survey_reader.h"
#include "worker/plan/column_sample.h"
#include "worker/plan/libsvm_fields.h"

namespace tessera {

// Rows looked at before training.
inline constexpr uint64_t kSurveyRows = 1000000;
// Numbers kept for statistics, of all columns together (256 MiB): with many numeric columns fewer rows are looked at.
inline constexpr uint64_t kSurveyNumbers = uint64_t{64} << 20;
// Rows that give the click rate where training starts.
inline constexpr uint64_t kClickRateRows = 10000;

struct Survey {
  uint64_t rows = 0;
  uint64_t bytes = 0;      // of these rows
  bool complete = false;   // there were no more rows
  uint64_t positives = 0;
  double click_rate = 0;   // of the first kClickRateRows rows; half a row from 0 and 1, so that its logit is finite
  std::vector<ColumnSample> columns;  // csv, criteo
  LibsvmFieldFinder fields;           // libsvm
};

// Reads at most `rows_max` rows. `columns` come empty, one for each of the reader's columns. A bad row is an error with file:line and what
// to do.
absl::StatusOr<Survey> TakeSurvey(SurveyReader* reader, std::vector<ColumnSample> columns, uint64_t rows_max);

// Rows of all files, of `plain_bytes` together: those counted if there are no more, else as many as if the rest were like them.
uint64_t EstimateRows(const Survey& survey, uint64_t plain_bytes);

}  // namespace tessera
