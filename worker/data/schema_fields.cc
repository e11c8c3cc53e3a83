#include "worker/data/schema_fields.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace tessera {

bool IsTreated(const Column& column, Treatment treatment) {
  return std::find(column.treat().begin(), column.treat().end(), treatment) != column.treat().end();
}

void NameModelInputs(Schema* schema) {
  schema->clear_fields();
  schema->clear_dense();
  for (const Column& column : schema->columns()) {
    if (column.role() == Column::CATEGORICAL) schema->add_fields(column.name());
  }
  for (const Column& column : schema->columns()) {
    if (column.role() != Column::NUMERIC) continue;
    if (IsTreated(column, bucket)) schema->add_fields(absl::StrCat(column.name(), ".bucket"));
    if (IsTreated(column, scaled)) schema->add_fields(absl::StrCat(column.name(), ".scaled"));
    if (IsTreated(column, dense)) schema->add_dense(column.name());
  }
}

}  // namespace tessera
