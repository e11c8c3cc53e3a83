// From a plan's job and schema to its table and dense variables.
#include "absl/strings/str_cat.h"
#include "common/learning_rate.h"
#include "common/status_macros.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "worker/model/build_graph.h"
#include "worker/model/deepfm.h"
#include "worker/model/model.h"

namespace tessera {
namespace {

// The optimizer's kind and every setting of it must be there: servers add no defaults of their own.
absl::Status CheckOptimizer(const std::string& key, const Optimizer& optimizer) {
  if (optimizer.kind_case() == Optimizer::KIND_NOT_SET) {
    return absl::InvalidArgumentError(absl::StrCat(key, ": not set; choose one of sgd, momentum, adagrad, rowwise_adagrad, adam, adamw, ftrl"));
  }
  const auto* kind = optimizer.GetDescriptor()->FindFieldByNumber(optimizer.kind_case());
  const google::protobuf::Message& settings = optimizer.GetReflection()->GetMessage(optimizer, kind);
  for (int i = 0; i < settings.GetDescriptor()->field_count(); ++i) {
    const auto* field = settings.GetDescriptor()->field(i);
    if (!settings.GetReflection()->HasField(settings, field)) {
      return absl::InvalidArgumentError(
          absl::StrCat(key, ".", kind->name(), ".", field->name(), ": not set, and no default was filled in"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Graph> BuildGraph(const Plan& plan) {
  switch (plan.job().model().type()) {
    case deepfm:
      return BuildDeepFm(plan);
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("model.type: ", ModelType_Name(plan.job().model().type()), " cannot be built; use deepfm"));
  }
}

absl::Status DescribeModel(Plan* plan) {
  TESSERA_ASSIGN_OR_RETURN(const Graph graph, BuildGraph(*plan));
  const Optimizers& optimizers = plan->job().optimizers();
  TESSERA_RETURN_IF_ERROR(CheckOptimizer("optimizers.sparse", optimizers.sparse()));
  TESSERA_RETURN_IF_ERROR(CheckOptimizer("optimizers.dense", optimizers.dense()));
  if (optimizers.has_first_order()) TESSERA_RETURN_IF_ERROR(CheckOptimizer("optimizers.first_order", optimizers.first_order()));
  plan->mutable_table()->Clear();
  plan->mutable_table()->set_name("features");
  for (const Segment& segment : graph.segments()) {
    Segment* out = plan->mutable_table()->add_segments();
    *out = segment;
    *out->mutable_optimizer() = optimizers.sparse();
    if (segment.name() != "weight" || !optimizers.has_first_order()) continue;
    *out->mutable_optimizer() = optimizers.first_order();
    // A step carries the sparse rate; this segment's stands in proportion to it.
    out->set_rate_scale(LearningRate(optimizers.first_order()) / LearningRate(optimizers.sparse()));
  }
  plan->clear_variables();
  for (const VariableSpec& variable : graph.variables()) {
    VariableSpec* out = plan->add_variables();
    *out = variable;
    *out->mutable_optimizer() = optimizers.dense();
  }
  return absl::OkStatus();
}

}  // namespace tessera
