#include "worker/model/step_bench.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/random.h"
#include "common/status_macros.h"
#include "worker/model/build_graph.h"
#include "worker/model/step_bench_data.h"

namespace tessera {
namespace {

constexpr uint64_t kBatches = 8;  // used in turn: more rows than any cache holds
constexpr uint32_t kWarmUpSteps = 3;

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

// Runs something and says how long it took.
template <class Body>
absl::Status Timed(double* ms, Body body) {
  const absl::Time start = Clock::Real()->Now();
  absl::Status status = body();
  *ms = absl::ToDoubleMilliseconds(Clock::Real()->Now() - start);
  return status;
}

// The products of one step, forward and backward, on matrices of the shapes that the plan's MLP has.
class Products {
 public:
  Products(const Plan& plan, int64_t rows, Backend* backend) : rows_(rows), backend_(backend) {
    const int64_t embeddings = int64_t{plan.schema().fields_size()} * plan.job().model().embedding_dim();
    widths_.push_back(embeddings + plan.schema().dense_size());
    for (uint32_t hidden : plan.job().model().hidden()) widths_.push_back(hidden);
    input_gradient_ = embeddings;
  }

  absl::Status Reserve() {
    for (size_t l = 0; l < widths_.size(); ++l) {
      TESSERA_RETURN_IF_ERROR(Add(rows_, widths_[l], &values_));
      TESSERA_RETURN_IF_ERROR(Add(rows_, l == 0 ? input_gradient_ : widths_[l], &gradients_));
      if (l == 0) continue;
      TESSERA_RETURN_IF_ERROR(Add(widths_[l - 1], widths_[l], &weights_));
      TESSERA_RETURN_IF_ERROR(Add(widths_[l - 1], widths_[l], &weight_gradients_));
    }
    return backend_->Finish();
  }

  absl::Status Run() {
    const size_t layers = weights_.size();
    for (size_t l = 0; l < layers; ++l) backend_->LinearForward(values_[l], weights_[l], {}, values_[l + 1]);
    for (size_t l = layers; l-- > 0;) {
      backend_->LinearBackwardWeights(values_[l], gradients_[l + 1], weight_gradients_[l]);
      backend_->LinearBackwardInput(gradients_[l + 1], ConstTensor(weights_[l]).Rows(0, gradients_[l].cols), {}, gradients_[l]);
    }
    return backend_->Finish();
  }

 private:
  // A matrix of small random numbers.
  absl::Status Add(int64_t rows, int64_t cols, std::vector<Tensor>* matrices) {
    host_.emplace_back(rows * cols);
    RandomSequence random(host_.size());
    for (float& v : host_.back()) v = (UniformFloat(random.Next()) - 0.5f) * 0.1f;
    buffers_.emplace_back(backend_);
    TESSERA_ASSIGN_OR_RETURN(const auto device, backend_->ResultFor(absl::MakeSpan(host_.back()), &buffers_.back()));
    matrices->emplace_back(device, rows, cols);
    return absl::OkStatus();
  }

  const int64_t rows_;
  Backend* const backend_;
  std::vector<int64_t> widths_;
  int64_t input_gradient_ = 0;
  std::vector<std::vector<float>> host_;
  std::vector<Buffer> buffers_;
  std::vector<Tensor> values_, gradients_, weights_, weight_gradients_;
};

struct Measured {
  std::vector<double> batch, pull, train, push, step, products, step_ratio, train_ratio;
};

// One step on rows that are given away, each part timed.
absl::Status Step(Rows rows, uint64_t number, const StepBenchStore& store, CtrModel* model, ModelGradients* gradients, uint32_t* ids,
                  Measured* measured) {
  Batch batch;
  ModelValues values;
  double ms[4];
  TESSERA_RETURN_IF_ERROR(Timed(&ms[0], [&] { return batch = MakeBatch(std::move(rows)), absl::OkStatus(); }));
  TESSERA_RETURN_IF_ERROR(Timed(&ms[1], [&] {
    absl::StatusOr<ModelValues> pulled = store.pull(batch);
    if (pulled.ok()) values = *pulled;
    return pulled.status();
  }));
  TESSERA_RETURN_IF_ERROR(Timed(&ms[2], [&] { return model->Train(batch, values, {.seed = 1, .step = number}, gradients); }));
  TESSERA_RETURN_IF_ERROR(Timed(&ms[3], [&] { return store.push(batch, *gradients); }));
  *ids = static_cast<uint32_t>(batch.unique_ids.size());
  measured->batch.push_back(ms[0]);
  measured->pull.push_back(ms[1]);
  measured->train.push_back(ms[2]);
  measured->push.push_back(ms[3]);
  measured->step.push_back(ms[0] + ms[1] + ms[2] + ms[3]);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Plan> StepBenchPlan() {
  Plan plan;
  Job& job = *plan.mutable_job();
  job.mutable_model()->set_type(deepfm);
  job.mutable_model()->set_embedding_dim(16);
  for (int i = 0; i < 3; ++i) job.mutable_model()->add_hidden(400);
  job.mutable_model()->set_dropout(0.1);
  Adagrad& adagrad = *job.mutable_optimizers()->mutable_sparse()->mutable_adagrad();
  adagrad.set_learning_rate(0.02);
  adagrad.set_initial_accumulator(0);
  adagrad.set_epsilon(1e-10);
  adagrad.set_l2(0);
  Adam& adam = *job.mutable_optimizers()->mutable_dense()->mutable_adam();
  adam.set_learning_rate(1e-3);
  adam.set_beta1(0.9);
  adam.set_beta2(0.999);
  adam.set_epsilon(1e-8);
  adam.set_l2(0);
  for (uint32_t f = 0; f < kBenchCategorical; ++f) plan.mutable_schema()->add_fields(absl::StrCat("C", f + 1));
  for (uint32_t f = 0; f < kBenchNumeric; ++f) plan.mutable_schema()->add_fields(absl::StrCat("I", f + 1, ".scaled"));
  plan.set_click_rate(0.25);
  TESSERA_RETURN_IF_ERROR(DescribeModel(&plan));
  return plan;
}

absl::StatusOr<StepBenchResult> RunStepBench(const Plan& plan, const StepBenchStore& store, const StepBenchOptions& options,
                                             Backend* backend) {
  TESSERA_ASSIGN_OR_RETURN(const auto model, CtrModel::Create(plan, backend));
  Products products(plan, options.rows, backend);
  TESSERA_RETURN_IF_ERROR(products.Reserve());
  std::vector<Rows> rows;
  for (uint64_t b = 0; b < kBatches; ++b) rows.push_back(MakeBenchRows(options.rows, b));
  StepBenchResult result;
  ModelGradients gradients;
  Measured m;
  for (uint64_t i = 0; i < kWarmUpSteps + options.pairs; ++i) {
    if (i == kWarmUpSteps) m = Measured();
    double ms;
    TESSERA_RETURN_IF_ERROR(Timed(&ms, [&] { return products.Run(); }));
    TESSERA_RETURN_IF_ERROR(Step(rows[i % kBatches], i + 1, store, model.get(), &gradients, &result.unique_ids, &m));
    m.products.push_back(ms);
    m.step_ratio.push_back(ms / m.step.back());
    m.train_ratio.push_back(ms / m.train.back());
  }
  result.rows = options.rows;
  result.batch_ms = Median(m.batch);
  result.pull_ms = Median(m.pull);
  result.train_ms = Median(m.train);
  result.push_ms = Median(m.push);
  result.step_ms = Median(m.step);
  result.products_ms = Median(m.products);
  result.step_ratio = Median(m.step_ratio);
  result.train_ratio = Median(m.train_ratio);
  result.examples_per_second = options.rows / (result.step_ms / 1e3);
  return result;
}

}  // namespace tessera
