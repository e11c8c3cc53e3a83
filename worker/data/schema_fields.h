// Names of a schema's model inputs, in the one order that readers fill them in.
#pragma once

#include <string>
#include <vector>

#include "proto/plan.pb.h"

namespace tessera {

// Fills schema.fields and schema.dense from schema.columns (csv, criteo): every categorical column in file order ("C1"), then for each
// numeric column its bucket ("age.bucket") and its scaled field ("age.scaled") where it is treated so; dense inputs ("age") in file order.
void NameModelInputs(Schema* schema);

// The one embedding of all fields of libsvm.
inline constexpr char kLibsvmEmbedding[] = "index";
// The embedding of each model field, in the order of schema.fields.
std::vector<std::string> FieldEmbeddings(const Schema& schema);

// Whether a numeric column's `treat` lists the treatment.
bool IsTreated(const Column& column, Treatment treatment);

}  // namespace tessera
