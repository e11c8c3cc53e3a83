#include "worker/model/layers.h"

#include "absl/strings/str_cat.h"
#include "common/random.h"
#include "common/status_macros.h"

namespace tessera {
namespace {

absl::Status CheckWidth(const Graph& graph, const std::string& layer, int value, int64_t width, int64_t gradient_width) {
  const Value& v = graph.value(value);
  if (v.width == width && v.gradient_width == gradient_width) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("layer ", layer, ": value ", v.name, " is ", v.width, " wide (gradient ", v.gradient_width,
                                          "), but the layer needs ", width, " (gradient ", gradient_width, ")"));
}

ConstTensor VariableMatrix(const Graph& graph, const Pass& pass, int variable) {
  const VariableSpec& spec = graph.variables()[variable];
  return ConstTensor(pass.variables[variable], spec.shape(0), spec.shape(1));
}

}  // namespace

absl::Status EmbedLayer::Check(const Graph& graph) const {
  const auto& segments = graph.segments();
  if (segments.size() != 2 || segments[0].dim() != 1 || graph.embedding_dim() < 1) {
    return absl::InternalError("layer embed: the table's rows must be a weight of 1 float and an embedding");
  }
  const int64_t dim = graph.embedding_dim();
  TESSERA_RETURN_IF_ERROR(CheckWidth(graph, name(), sums, dim, 0));
  if (x >= 0) TESSERA_RETURN_IF_ERROR(CheckWidth(graph, name(), x, graph.fields() * dim + graph.dense(), graph.fields() * dim));
  if (graph.dense() > 0) TESSERA_RETURN_IF_ERROR(graph.CheckVariable(name(), dense_weight, {static_cast<uint64_t>(graph.dense())}));
  return absl::OkStatus();
}

void EmbedLayer::Forward(const Graph&, Pass* pass) const {
  pass->backend->EmbedForward({.occurrences = pass->occurrences,
                               .values = pass->rows,
                               .dense = pass->dense,
                               .dense_weights = dense_weight < 0 ? DeviceSpan<const float>() : pass->variables[dense_weight],
                               .x = x < 0 ? Tensor() : pass->values[x],
                               .sums = pass->values[sums],
                               .logits = pass->logits});
}

void EmbedLayer::Backward(const Graph&, Pass* pass) const {
  pass->backend->EmbedBackward({.occurrences = pass->occurrences,
                                .values = pass->rows,
                                .sums = pass->values[sums],
                                .x_gradient = x < 0 ? Tensor() : pass->value_gradients[x],
                                .logit_gradient = pass->logit_gradient,
                                .value_gradient = pass->row_gradient});
  if (dense_weight >= 0) pass->backend->WeightedColumnSums(pass->dense, pass->logit_gradient, pass->variable_gradients[dense_weight]);
}

std::string HiddenLayer::name() const { return absl::StrCat("mlp.", number); }

absl::Status HiddenLayer::Check(const Graph& graph) const {
  const Value& in = graph.value(input);
  const Value& out = graph.value(output);
  TESSERA_RETURN_IF_ERROR(CheckWidth(graph, name(), output, out.width, out.width));
  TESSERA_RETURN_IF_ERROR(graph.CheckVariable(name(), weight, {static_cast<uint64_t>(in.width), static_cast<uint64_t>(out.width)}));
  if (in.bias >= 0 && in.gradient_width != in.width) {
    return absl::InternalError(absl::StrCat("layer ", name(), ": value ", in.name, " left a ReLU, so its whole gradient is wanted"));
  }
  return graph.CheckVariable(name(), out.bias, {static_cast<uint64_t>(out.width)});
}

void HiddenLayer::Forward(const Graph& graph, Pass* pass) const {
  const Value& out = graph.value(output);
  Activation activation{.bias = pass->variables[out.bias], .relu = true};
  if (pass->training) {
    activation.dropout = {
        .rate = out.dropout, .key = MixKey(pass->dropout_key, static_cast<uint64_t>(number)), .first_row = pass->first_row};
  }
  pass->backend->LinearForward(pass->values[input], VariableMatrix(graph, *pass, weight), activation, pass->values[output]);
}

void HiddenLayer::Backward(const Graph& graph, Pass* pass) const {
  const Value& in = graph.value(input);
  const Tensor& dy = pass->value_gradients[output];
  const VariableSpec& spec = graph.variables()[weight];
  pass->backend->LinearBackwardWeights(pass->values[input], dy, Tensor(pass->variable_gradients[weight], spec.shape(0), spec.shape(1)));
  if (in.gradient_width == 0) return;
  ActivationGradient activation;
  if (in.bias >= 0) {
    activation = {
        .output = pass->values[input], .scale = Dropout{.rate = in.dropout}.scale(), .column_sums = pass->variable_gradients[in.bias]};
  }
  const ConstTensor w = VariableMatrix(graph, *pass, weight).Rows(0, in.gradient_width);
  pass->backend->LinearBackwardInput(dy, w, activation, pass->value_gradients[input]);
}

absl::Status OutputLayer::Check(const Graph& graph) const {
  TESSERA_RETURN_IF_ERROR(graph.CheckVariable(name(), bias, {1}));
  if (h < 0) return absl::OkStatus();
  const int64_t width = graph.value(h).width;
  TESSERA_RETURN_IF_ERROR(CheckWidth(graph, name(), h, width, width));
  if (graph.value(h).bias < 0) {
    return absl::InternalError(absl::StrCat("layer output: value ", graph.value(h).name, " must have left a ReLU"));
  }
  return graph.CheckVariable(name(), weight, {static_cast<uint64_t>(width), 1});
}

void OutputLayer::Forward(const Graph& graph, Pass* pass) const {
  const DeviceSpan<const float> w = h < 0 ? DeviceSpan<const float>() : pass->variables[weight];
  const ConstTensor input = h < 0 ? ConstTensor() : ConstTensor(pass->values[h]);
  if (!pass->training) return pass->backend->OutputForward(input, w, pass->variables[bias], pass->logits);
  Backend::OutputLossArgs args;
  args.h = input;
  args.w = w;
  args.bias = pass->variables[bias];
  args.labels = pass->labels;
  args.logits = pass->logits;
  args.loss = pass->loss;
  args.logit_gradient = pass->logit_gradient;
  args.bias_gradient = pass->variable_gradients[bias];
  if (h >= 0) {
    args.h_scale = Dropout{.rate = graph.value(h).dropout}.scale();
    args.w_gradient = pass->variable_gradients[weight];
    args.h_gradient = pass->value_gradients[h];
    args.h_column_sums = pass->variable_gradients[graph.value(h).bias];
  }
  pass->backend->OutputLoss(args);
}

}  // namespace tessera
