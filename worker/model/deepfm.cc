#include "worker/model/deepfm.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "worker/model/layers.h"

namespace tessera {
namespace {

constexpr float kEmbeddingStddev = 0.01f;
// Click rates of 0 and 1 in the first rows say little about the rest: the bias starts no further out than this.
constexpr double kClickRateMin = 1e-4;
// A row of the table travels in one message, and a layer's weights fit in memory several times.
constexpr uint32_t kWidthMax = 1 << 16;

Initializer Constant(float value) {
  Initializer initializer;
  initializer.set_constant(value);
  return initializer;
}

Initializer Xavier(int64_t in, int64_t out) {
  Initializer initializer;
  initializer.set_uniform_bound(static_cast<float>(std::sqrt(6.0 / static_cast<double>(in + out))));
  return initializer;
}

Initializer RowStart(const tessera::Model& model) {
  const RowInitializer& start = model.embedding_initializer();
  Initializer initializer;
  switch (start.kind_case()) {
    case RowInitializer::kZero: return Constant(0);
    case RowInitializer::kXavier: return Xavier(1, model.embedding_dim());
    case RowInitializer::kUniform: initializer.set_uniform_bound(static_cast<float>(start.uniform().bound())); return initializer;
    case RowInitializer::kNormal: initializer.set_normal_stddev(static_cast<float>(start.normal().stddev())); return initializer;
    case RowInitializer::KIND_NOT_SET: break;
  }
  initializer.set_normal_stddev(kEmbeddingStddev);  // plans made before the key was there
  return initializer;
}

absl::Status CheckWidthOf(const std::string& key, uint32_t width) {
  if (width >= 1 && width <= kWidthMax) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(key, ": ", width, " is out of range; it must be 1 to ", kWidthMax));
}

absl::Status CheckModel(const Plan& plan) {
  const tessera::Model& model = plan.job().model();
  TESSERA_RETURN_IF_ERROR(CheckWidthOf("model.embedding_dim", model.embedding_dim()));
  for (int i = 0; i < model.hidden_size(); ++i) {
    TESSERA_RETURN_IF_ERROR(CheckWidthOf(absl::StrCat("model.hidden[", i, "]"), model.hidden(i)));
  }
  if (!(model.dropout() >= 0 && model.dropout() < 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("model.dropout: ", model.dropout(), " is out of range; it must be at least 0 and below 1"));
  }
  if (plan.schema().fields_size() == 0 && plan.schema().dense_size() == 0) {
    return absl::InvalidArgumentError("features: no column is a feature; add a rule like {match: [\"*\"], as: categorical}");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Graph> BuildDeepFm(const Plan& plan) {
  TESSERA_RETURN_IF_ERROR(CheckModel(plan));
  const tessera::Model& model = plan.job().model();
  const int64_t dim = model.embedding_dim(), fields = plan.schema().fields_size(), dense = plan.schema().dense_size();
  Graph graph;
  graph.set_inputs(fields, dense);
  graph.AddSegment("weight", 1, Constant(0));
  graph.AddSegment("embedding", static_cast<uint32_t>(dim), RowStart(model));

  auto embed = std::make_unique<EmbedLayer>();
  auto output = std::make_unique<OutputLayer>();
  embed->sums = graph.AddValue({.name = "sums", .width = dim});
  std::vector<std::unique_ptr<HiddenLayer>> mlp;
  int64_t width = fields * dim + dense;
  int value = model.hidden_size() == 0 ? -1 : graph.AddValue({.name = "x", .width = width, .gradient_width = fields * dim});
  embed->x = value;
  for (int i = 0; i < model.hidden_size(); ++i) {
    const int64_t out = model.hidden(i);
    auto layer = std::make_unique<HiddenLayer>();
    layer->number = i;
    layer->input = value;
    layer->weight = graph.AddVariable(absl::StrCat("mlp.", i, ".weight"), {static_cast<uint64_t>(width), static_cast<uint64_t>(out)},
                                      Xavier(width, out));
    const int bias = graph.AddVariable(absl::StrCat("mlp.", i, ".bias"), {static_cast<uint64_t>(out)}, Constant(0));
    value =
        graph.AddValue({.name = absl::StrCat("hidden.", i), .width = out, .gradient_width = out, .bias = bias, .dropout = model.dropout()});
    layer->output = value;
    mlp.push_back(std::move(layer));
    width = out;
  }
  output->h = value;
  if (value >= 0) output->weight = graph.AddVariable("mlp.out.weight", {static_cast<uint64_t>(width), 1}, Xavier(width, 1));
  const double rate = std::clamp(plan.click_rate(), kClickRateMin, 1 - kClickRateMin);
  output->bias = graph.AddVariable("bias", {1}, Constant(static_cast<float>(std::log(rate / (1 - rate)))));
  if (dense > 0) embed->dense_weight = graph.AddVariable("dense.weight", {static_cast<uint64_t>(dense)}, Constant(0));

  graph.AddLayer(std::move(embed));
  for (auto& layer : mlp) graph.AddLayer(std::move(layer));
  graph.AddLayer(std::move(output));
  TESSERA_RETURN_IF_ERROR(graph.Check());
  return graph;
}

}  // namespace tessera
