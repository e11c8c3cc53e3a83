#include "worker/data/row_encoder.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/job/utf8.h"
#include "worker/data/csv_split.h"
#include "worker/data/numeric.h"
#include "worker/data/schema_fields.h"

namespace tessera {
namespace {

size_t ColumnOf(const Schema& schema, std::string_view name) {
  size_t index = 0;
  for (const Column& column : schema.columns()) {
    if (column.name() == name) break;
    ++index;
  }
  return index;
}

size_t LabelColumn(const Plan& plan) {
  const Schema& schema = plan.schema();
  if (schema.format() == csv && plan.job().data().labels_size() > 0) return ColumnOf(schema, plan.job().data().labels(0).column());
  size_t index = 0;
  while (index < static_cast<size_t>(schema.columns_size()) && schema.columns(index).role() != Column::LABEL) ++index;
  return index;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const RowEncoder>> RowEncoder::Create(const Plan& plan, ReadOptions options) {
  std::shared_ptr<const RowEncoder> encoder(new RowEncoder(plan, options));
  const Schema& schema = plan.schema();
  if (static_cast<int>(encoder->fields_) != schema.fields_size() || static_cast<int>(encoder->dense_width_) != schema.dense_size()) {
    return absl::InternalError(absl::StrCat("schema: ", schema.fields_size(), " fields and ", schema.dense_size(),
                                            " dense inputs are named, but its columns make ", encoder->fields_, " and ", encoder->dense_width_));
  }
  for (const std::string& name : plan.job().data().keep()) {
    if (ColumnOf(schema, name) == encoder->columns_) {
      return absl::InvalidArgumentError(absl::StrCat("data.keep: there is no column \"", name, "\""));
    }
  }
  if (options.labels && encoder->label_column_ == encoder->columns_) return absl::InvalidArgumentError("data.labels: there is no label column");
  return encoder;
}

RowEncoder::RowEncoder(const Plan& plan, ReadOptions options)
    : options_(options),
      label_parser_(plan.job().data()),
      columns_(static_cast<size_t>(plan.schema().columns_size())),
      label_column_(LabelColumn(plan)),
      missing_(MissingSpellings(plan.job().data())),
      needed_(columns_, false) {
  for (const std::string& text : missing_) missing_size_max_ = std::max(missing_size_max_, text.size());
  const Schema& schema = plan.schema();
  for (size_t i = 0; i < columns_; ++i) {
    const Column& column = schema.columns(static_cast<int>(i));
    needed_[i] = column.role() == Column::CATEGORICAL || column.role() == Column::NUMERIC;
    if (column.role() != Column::CATEGORICAL) continue;
    // Columns may share an embedding; what it means that one of them has no value is learned for each.
    const uint64_t missing_id = TokenHasher(column.name()).MissingId();
    categoricals_.push_back({i, TokenHasher(column.embedding().empty() ? column.name() : column.embedding()), missing_id});
  }
  int field = static_cast<int>(categoricals_.size());
  int dense_input = 0;
  for (size_t i = 0; i < columns_; ++i) {
    if (schema.columns(static_cast<int>(i)).role() == Column::NUMERIC) AddNumeric(i, schema.columns(static_cast<int>(i)), &field, &dense_input);
  }
  fields_ = static_cast<uint32_t>(field);
  dense_width_ = static_cast<uint32_t>(dense_input);
  if (options.labels && label_column_ < columns_) needed_[label_column_] = true;
  if (!options.kept) return;
  for (const std::string& name : plan.job().data().keep()) {
    kept_.push_back(ColumnOf(schema, name));
    if (kept_.back() < columns_ && kept_.back() != label_column_) needed_[kept_.back()] = true;
  }
}

void RowEncoder::AddNumeric(size_t index, const Column& column, int* field, int* dense_input) {
  const TokenHasher hasher(column.name());
  Numeric numeric{};
  numeric.column = index;
  numeric.name = column.name();
  numeric.bucket_field = IsTreated(column, bucket) ? (*field)++ : kNone;
  numeric.scaled_field = IsTreated(column, scaled) ? (*field)++ : kNone;
  numeric.dense_input = IsTreated(column, dense) ? (*dense_input)++ : kNone;
  has_scales_ |= numeric.scaled_field != kNone;
  numeric.statistics = column.numeric();
  for (int k = 0; k <= column.numeric().edges_size(); ++k) numeric.bucket_ids.push_back(hasher.BucketId(static_cast<uint32_t>(k)));
  numeric.scaled_id = hasher.ScaledId();
  numeric.missing_id = hasher.MissingId();
  for (size_t x = 0; x < kSmallNumbers; ++x) numeric.small[x] = numeric.Treat(static_cast<float>(x));
  numerics_.push_back(std::move(numeric));
}

RowEncoder::Treated RowEncoder::Numeric::Treat(float x) const {
  return {bucket_ids[BucketOf(statistics, x)], ScaledValue(statistics, x)};
}

void RowEncoder::Prepare(Rows* rows) const {
  assert(rows->size() == 0 || (rows->fields == fields_ && rows->dense_width == dense_width_));
  rows->fields = fields_;
  rows->dense_width = dense_width_;
}

inline bool RowEncoder::IsMissing(std::string_view cell) const {
  if (cell.size() > missing_size_max_) return false;
  return std::find(missing_.begin(), missing_.end(), cell) != missing_.end();
}

bool RowEncoder::Encode(const std::string_view* cells, Rows* rows, std::string* error) const {
  const size_t first = rows->ids.size();
  rows->ids.resize(first + fields_);
  uint64_t* const ids = rows->ids.data() + first;
  for (size_t i = 0; i < categoricals_.size(); ++i) {
    const std::string_view cell = cells[categoricals_[i].column];
    ids[i] = IsMissing(cell) ? categoricals_[i].missing_id : categoricals_[i].hasher.Id(cell);
  }
  float* scales = nullptr;
  if (has_scales_) {
    rows->scales.resize(first + fields_, 1.0f);
    scales = rows->scales.data() + first;
  }
  const size_t first_dense = rows->dense.size();
  rows->dense.resize(first_dense + dense_width_);
  for (const Numeric& numeric : numerics_) {
    if (!EncodeNumeric(numeric, cells[numeric.column], ids, scales, rows->dense.data() + first_dense)) {
      *error = NotANumber(numeric, cells[numeric.column]);
      return false;
    }
  }
  for (const size_t column : kept_) rows->kept.emplace_back(cells[column]);
  return EncodeLabel(label_column_ < columns_ ? cells[label_column_] : std::string_view(), rows, error);
}

bool RowEncoder::EncodeLabel(std::string_view cell, Rows* rows, std::string* error) const {
  const float label = cell.data() == nullptr ? std::numeric_limits<float>::quiet_NaN() : label_parser_.Parse(cell);
  if (options_.labels && std::isnan(label)) {
    *error = label_parser_.Unknown(cell);
    return false;
  }
  rows->labels.push_back(label);
  return true;
}

bool RowEncoder::EncodeNumeric(const Numeric& numeric, std::string_view cell, uint64_t* ids, float* scales, float* dense_values) const {
  Treated treated = {numeric.missing_id, 0};
  if (!IsMissing(cell)) {
    float x;
    if (!ParseNumber(cell, &x)) return false;
    const bool is_small = x >= 0 && x < static_cast<float>(kSmallNumbers) && x == static_cast<float>(static_cast<int>(x));
    treated = is_small ? numeric.small[static_cast<size_t>(x)] : numeric.Treat(x);
  }
  if (numeric.bucket_field != kNone) ids[numeric.bucket_field] = treated.bucket_id;
  if (numeric.scaled_field != kNone) {
    ids[numeric.scaled_field] = numeric.scaled_id;
    scales[numeric.scaled_field] = treated.scaled;
  }
  if (numeric.dense_input != kNone) dense_values[numeric.dense_input] = treated.scaled;
  return true;
}

std::string RowEncoder::NotANumber(const Numeric& numeric, std::string_view cell) const {
  const std::string missing =
      absl::StrJoin(missing_, ", ", [](std::string* out, const std::string& text) { absl::StrAppend(out, "\"", text, "\""); });
  return absl::StrCat("column \"", numeric.name, "\": expected a number or a missing value (", missing, "), found \"", Excerpt(cell),
                      "\"; is the column categorical?");
}

}  // namespace tessera
