#include "tests/unit/model/model_case.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "common/partition.h"
#include "common/random.h"
#include "gtest/gtest.h"
#include "worker/compute/dropout.h"

namespace tessera {
namespace {

// The flattened values of one variable.
const float* VariableOf(const ModelCase& c, const std::string& name) {
  uint64_t at = 0;
  for (const VariableSpec& variable : c.plan.variables()) {
    if (variable.name() == name) return c.dense.data() + at;
    at += ElementCount(variable);
  }
  ADD_FAILURE() << "no variable " << name;
  return nullptr;
}

void Units(const ModelCase& c, size_t i, const StepKey* key, int layer, const std::vector<double>& in, std::vector<double>* out,
           double* kink) {
  const std::string name = "mlp." + std::to_string(layer);
  const float *w = VariableOf(c, name + ".weight"), *b = VariableOf(c, name + ".bias");
  const double rate = c.plan.job().model().dropout();
  for (size_t j = 0; j < out->size(); ++j) {
    double z = b[j];
    for (size_t p = 0; p < in.size(); ++p) z += in[p] * w[p * out->size() + j];
    if (kink != nullptr) *kink = std::min(*kink, std::abs(z));
    double scale = 1;
    if (key != nullptr && rate > 0) {
      const DropoutRow row = MakeDropoutRow(MixKey(MixKey(key->seed, key->step), static_cast<uint64_t>(layer)), key->first_row + i);
      scale = DropoutBits(row, static_cast<uint32_t>(j)) < DropoutThreshold(rate) ? 0 : 1 / (1 - rate);
    }
    (*out)[j] = std::max(z, 0.0) * scale;
  }
}

}  // namespace

Plan MakePlanFor(const CaseOptions& options) {
  Plan plan;
  Job& job = *plan.mutable_job();
  tessera::Model& model = *job.mutable_model();
  model.set_type(deepfm);
  model.set_embedding_dim(options.dim);
  for (uint32_t h : options.hidden) model.add_hidden(h);
  model.set_dropout(options.dropout);
  job.mutable_optimizers()->mutable_sparse()->mutable_sgd()->set_learning_rate(0.1);
  job.mutable_optimizers()->mutable_dense()->mutable_sgd()->set_learning_rate(0.1);
  job.mutable_optimizers()->mutable_sparse()->mutable_sgd()->set_l2(0);
  job.mutable_optimizers()->mutable_dense()->mutable_sgd()->set_l2(0);
  for (uint32_t f = 0; f < options.fields; ++f) plan.mutable_schema()->add_fields("field" + std::to_string(f));
  for (uint32_t j = 0; j < options.dense; ++j) plan.mutable_schema()->add_dense("dense" + std::to_string(j));
  plan.set_click_rate(0.25);
  EXPECT_TRUE(DescribeModel(&plan).ok());
  return plan;
}

Rows MakeRows(const CaseOptions& options) {
  Rows rows;
  rows.fields = options.fields;
  rows.dense_width = options.dense;
  RandomSequence random(MixKey(options.seed, 17));
  const uint64_t vocabulary = 2 + options.rows * options.fields / 8;
  if (options.runs) rows.offsets.push_back(0);
  for (uint32_t i = 0; i < options.rows; ++i) {
    rows.labels.push_back(static_cast<float>(random.Below(2)));
    rows.keys.push_back(uint64_t{1} << kRowKeyOffsetBits | (i * 100));
    for (uint32_t f = 0; f < options.fields; ++f) {
      for (uint64_t k = options.runs ? random.Below(4) : 1; k > 0; --k) {
        rows.ids.push_back(Mix64(random.Below(vocabulary) * 64 + f));
        if (options.scaled) rows.scales.push_back(2 * UniformFloat(random.Next()) - 1);
      }
      if (options.runs) rows.offsets.push_back(static_cast<uint32_t>(rows.ids.size()));
    }
    for (uint32_t j = 0; j < options.dense; ++j) rows.dense.push_back(2 * UniformFloat(random.Next()) - 1);
  }
  return rows;
}

std::vector<float> ValuesOf(const Plan& plan, const Batch& batch) {
  std::vector<float> values;
  for (uint64_t id : batch.unique_ids) {
    for (uint32_t j = 0; j < RowDim(plan.table()); ++j) values.push_back(2 * UniformFloat(MixKey(id, j)) - 1);
  }
  return values;
}

ModelCase MakeCase(const CaseOptions& options) {
  ModelCase c;
  c.plan = MakePlanFor(options);
  c.batch = MakeBatch(MakeRows(options));
  c.rows = ValuesOf(c.plan, c.batch);
  RandomSequence random(MixKey(options.seed, 18));
  for (const VariableSpec& variable : c.plan.variables()) {
    const float bound = variable.shape_size() == 2 ? static_cast<float>(1 / std::sqrt(variable.shape(0))) : 0.5f;
    for (uint64_t k = 0; k < ElementCount(variable); ++k) c.dense.push_back(bound * (2 * UniformFloat(random.Next()) - 1));
  }
  return c;
}

Batch PickRows(const ModelCase& c, const std::vector<size_t>& picked) {
  Rows rows;
  rows.fields = c.batch.rows.fields;
  rows.dense_width = c.batch.rows.dense_width;
  for (size_t i : picked) rows.AppendRow(c.batch.rows, i);
  return MakeBatch(std::move(rows));
}

double ReferenceLogit(const ModelCase& c, size_t i, const StepKey* key, double* kink) {
  const Rows& rows = c.batch.rows;
  const size_t dim = RowDim(c.plan.table()) - 1, fields = rows.fields;
  std::vector<double> x(fields * dim + rows.dense_width), sums(dim);
  double logit = *VariableOf(c, "bias");
  for (size_t slot = i * fields; slot < (i + 1) * fields; ++slot) {
    const size_t begin = rows.offsets.empty() ? slot : rows.offsets[slot], end = rows.offsets.empty() ? slot + 1 : rows.offsets[slot + 1];
    for (size_t o = begin; o < end; ++o) {
      const float* row = &c.rows[c.batch.inverse[o] * (dim + 1)];
      const double s = rows.scales.empty() ? 1 : rows.scales[o];
      logit += s * row[0];
      for (size_t j = 0; j < dim; ++j) {
        const double z = s * row[1 + j];
        x[slot % fields * dim + j] += z;
        sums[j] += z;
        logit -= z * z / 2;
      }
    }
  }
  for (double s : sums) logit += s * s / 2;
  for (size_t j = 0; j < rows.dense_width; ++j) {
    x[fields * dim + j] = rows.dense[i * rows.dense_width + j];
    logit += x[fields * dim + j] * VariableOf(c, "dense.weight")[j];
  }
  const auto& hidden = c.plan.job().model().hidden();
  for (int layer = 0; layer < hidden.size(); ++layer) {
    std::vector<double> h(hidden[layer]);
    Units(c, i, key, layer, x, &h, kink);
    x = std::move(h);
  }
  if (!hidden.empty()) {
    for (size_t j = 0; j < x.size(); ++j) logit += x[j] * VariableOf(c, "mlp.out.weight")[j];
  }
  return logit;
}

double ReferenceLoss(const ModelCase& c, const StepKey* key) {
  double loss = 0;
  for (size_t i = 0; i < c.batch.size(); ++i) {
    const double z = ReferenceLogit(c, i, key);
    loss += std::max(z, 0.0) - z * c.batch.rows.labels[i] + std::log1p(std::exp(-std::abs(z)));
  }
  return loss;
}

}  // namespace tessera
