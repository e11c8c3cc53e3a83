#include "tools/row_name.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/feature_id.h"
#include "worker/data/csv_split.h"
#include "worker/data/numeric.h"
#include "worker/data/schema_fields.h"

namespace tessera {
namespace {

bool IsMissing(const Plan& plan, const std::string& token) {
  const std::vector<std::string> missing = MissingSpellings(plan.job().data());
  return std::find(missing.begin(), missing.end(), token) != missing.end();
}

absl::StatusOr<uint64_t> NumericId(const Plan& plan, const Column& column, bool is_scaled, const std::string& token) {
  const TokenHasher hasher(column.name());
  if (is_scaled) return hasher.ScaledId();
  if (IsMissing(plan, token)) return hasher.MissingId();
  float x;
  if (!ParseNumber(token, &x)) return absl::InvalidArgumentError(absl::StrCat(column.name(), " is numeric, and \"", token, "\" is not a number"));
  return hasher.BucketId(static_cast<uint32_t>(BucketOf(column.numeric(), x)));
}

}  // namespace

absl::StatusOr<uint64_t> RowIdOf(const Plan& plan, absl::string_view name) {
  const size_t equals = name.find('=');
  if (equals == name.npos) return absl::InvalidArgumentError(absl::StrCat(std::string(name), ": name a row as field=token"));
  const std::string field(name.substr(0, equals)), token(name.substr(equals + 1));
  const Schema& schema = plan.schema();
  const bool named = std::find(schema.fields().begin(), schema.fields().end(), field) != schema.fields().end();
  if (schema.format() == libsvm && (named || field == kLibsvmEmbedding)) return TokenHasher(kLibsvmEmbedding).Id(token);
  for (const Column& column : schema.columns()) {
    if (column.role() == Column::CATEGORICAL && column.name() == field) {
      if (IsMissing(plan, token)) return TokenHasher(column.name()).MissingId();
      return TokenHasher(column.embedding().empty() ? column.name() : column.embedding()).Id(token);
    }
    if (column.role() != Column::NUMERIC) continue;
    const bool has_bucket = IsTreated(column, bucket), has_scaled = IsTreated(column, scaled);
    if (has_scaled && (field == column.name() + ".scaled" || (!has_bucket && field == column.name()))) return NumericId(plan, column, true, token);
    if (has_bucket && (field == column.name() + ".bucket" || field == column.name())) return NumericId(plan, column, false, token);
  }
  return absl::InvalidArgumentError(absl::StrCat("no field \"", field, "\" has rows; there are ", absl::StrJoin(schema.fields(), ", ")));
}

}  // namespace tessera
