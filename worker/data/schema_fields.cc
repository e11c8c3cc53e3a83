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

std::vector<std::string> FieldEmbeddings(const Schema& schema) {
  if (schema.format() == libsvm) return std::vector<std::string>(static_cast<size_t>(schema.fields_size()), kLibsvmEmbedding);
  std::vector<std::string> embeddings;
  for (const Column& column : schema.columns()) {
    if (column.role() == Column::CATEGORICAL) embeddings.push_back(column.embedding().empty() ? column.name() : column.embedding());
  }
  for (const Column& column : schema.columns()) {
    if (column.role() != Column::NUMERIC) continue;
    embeddings.insert(embeddings.end(), IsTreated(column, bucket) + IsTreated(column, scaled), column.name());
  }
  return embeddings;
}

}  // namespace tessera
