// Small DeepFM problems, and DeepFM written down once more as plain loops in double: what the graph is checked against.
#pragma once

#include <cstdint>
#include <vector>

#include "worker/batch/batch.h"
#include "worker/model/model.h"

namespace tessera {

struct CaseOptions {
  uint32_t rows = 5;
  uint32_t fields = 3;
  uint32_t dense = 0;
  uint32_t dim = 4;
  std::vector<uint32_t> hidden = {7, 5};
  double dropout = 0;
  bool scaled = false;
  bool runs = false;  // 0 to 3 occurrences for each (row, field) instead of one
  uint64_t seed = 1;
};

struct ModelCase {
  Plan plan;
  Batch batch;
  std::vector<float> rows;   // values of the table, unique ids x row dimension
  std::vector<float> dense;  // values of the dense variables
  ModelValues values() const { return {rows, dense}; }
};

// A described plan without data.
Plan MakePlanFor(const CaseOptions& options);
// Random rows of the layout.
Rows MakeRows(const CaseOptions& options);
ModelCase MakeCase(const CaseOptions& options);
// The values of an id are a function of it, so that another batch of some of the rows meets the same ones.
std::vector<float> ValuesOf(const Plan& plan, const Batch& batch);

// Rows `picked` of the case, as a batch of their own.
Batch PickRows(const ModelCase& c, const std::vector<size_t>& picked);

// Logit of row i in double; `key` decides dropout, null leaves it out. Sets *kink to the smallest |input| of a ReLU, if given.
double ReferenceLogit(const ModelCase& c, size_t i, const StepKey* key, double* kink = nullptr);
// Sum of the rows' logloss.
double ReferenceLoss(const ModelCase& c, const StepKey* key);

}  // namespace tessera
