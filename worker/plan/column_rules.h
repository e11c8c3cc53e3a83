// Columns of a file matched with the feature rules of a job.
#pragma once

#include <string>
#include <vector>

#include "proto/plan.pb.h"

namespace tessera {

// Makes schema->columns from the names of a file's columns (csv, criteo), in order.
//
// The label's column is the label. Of the rules the first that matches a column decides; patterns are names or globs (* ? [..]). Columns
// named in data.keep, data.weight and data.group are features only if a rule gives their very name: a glob such as "*" passes them over.
// Criteo's columns need no rule: I1 .. I13 are numeric, C1 .. C26 categorical.
//
// Returns the indices of columns that no rule matches. Appends to `problems` what else is wrong, with its place: a rule or a key that
// names a column which does not exist, a label that is a feature, a rule without a kind.
std::vector<int> MatchColumns(const Job& job, const std::vector<Origin>& origins, const std::vector<std::string>& names, Schema* schema,
                              std::vector<std::string>* problems);

// Sets the role of a column and the defaults that go with it.
void SetFeature(const FeatureRule& rule, Column* column);


}  // namespace tessera
