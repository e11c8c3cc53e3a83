// Runs a graph over batches: brings values to the backend, goes forward and back, brings gradients home.
#include "worker/model/model.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/partition.h"
#include "common/random.h"
#include "common/status_macros.h"
#include "google/protobuf/util/message_differencer.h"
#include "worker/model/build_graph.h"
#include "worker/model/device_batch.h"

namespace tessera {
namespace {

// Rows that prediction takes through the graph at a time: bounds its memory whatever the batch, and changes no bit.
constexpr int64_t kPredictRows = 4096;

absl::Status CheckPlan(const Plan& plan, const Graph& graph) {
  Plan described = plan;
  TESSERA_RETURN_IF_ERROR(DescribeModel(&described));
  const auto differ = [](const google::protobuf::Message& a, const google::protobuf::Message& b) {
    return !google::protobuf::util::MessageDifferencer::Equals(a, b);
  };
  if (differ(plan.table(), described.table())) {
    return absl::InvalidArgumentError("plan.table is not what plan.job.model makes; describe the model first");
  }
  if (plan.variables_size() != static_cast<int>(graph.variables().size())) {
    return absl::InvalidArgumentError(
        absl::StrCat("plan.variables: ", plan.variables_size(), " variables, but the model has ", graph.variables().size()));
  }
  for (int i = 0; i < plan.variables_size(); ++i) {
    if (differ(plan.variables(i), described.variables(i))) {
      return absl::InvalidArgumentError(absl::StrCat("plan.variables: ", plan.variables(i).name(), " is not what plan.job.model makes"));
    }
  }
  return absl::OkStatus();
}

class GraphModel : public CtrModel {
 public:
  GraphModel(Graph graph, Backend* backend) : graph_(std::move(graph)), backend_(backend), device_(graph_, backend) {}

  absl::Status Train(const Batch& batch, const ModelValues& values, const StepKey& key, ModelGradients* gradients) override {
    TESSERA_RETURN_IF_ERROR(device_.Check(batch, values));
    if (batch.rows.labels.size() != batch.size()) return absl::InvalidArgumentError("training needs a label for each row");
    Pass pass;
    pass.training = true;
    pass.dropout_key = MixKey(key.seed, key.step);
    pass.first_row = key.first_row;
    TESSERA_RETURN_IF_ERROR(device_.Bring(batch, values, &pass));
    TESSERA_RETURN_IF_ERROR(device_.Reserve(static_cast<int64_t>(batch.size()), &pass));
    TESSERA_RETURN_IF_ERROR(device_.ReserveGradients(batch, gradients, &pass));
    for (const auto& layer : graph_.layers()) layer->Forward(graph_, &pass);
    for (auto layer = graph_.layers().rbegin(); layer != graph_.layers().rend(); ++layer) (*layer)->Backward(graph_, &pass);
    device_.TakeHome(pass, gradients);
    return backend_->Finish();
  }

  absl::Status Predict(const Batch& batch, const ModelValues& values, std::vector<float>* logits) override {
    TESSERA_RETURN_IF_ERROR(device_.Check(batch, values));
    Pass whole;
    TESSERA_RETURN_IF_ERROR(device_.Bring(batch, values, &whole));
    const int64_t rows = static_cast<int64_t>(batch.size());
    logits->resize(batch.size());
    for (int64_t begin = 0; begin < rows; begin += kPredictRows) {
      const int64_t count = std::min(kPredictRows, rows - begin);
      Pass part = SliceRows(whole, begin, count);
      TESSERA_RETURN_IF_ERROR(device_.Reserve(count, &part));
      for (const auto& layer : graph_.layers()) layer->Forward(graph_, &part);
      backend_->Download(part.logits, absl::MakeSpan(*logits).subspan(begin, count));
      TESSERA_RETURN_IF_ERROR(backend_->Finish());
    }
    return absl::OkStatus();
  }

 private:
  const Graph graph_;
  Backend* const backend_;
  DeviceBatch device_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<CtrModel>> CtrModel::Create(const Plan& plan, Backend* backend) {
  TESSERA_ASSIGN_OR_RETURN(Graph graph, BuildGraph(plan));
  TESSERA_RETURN_IF_ERROR(CheckPlan(plan, graph));
  return std::make_unique<GraphModel>(std::move(graph), backend);
}

}  // namespace tessera
