#include "worker/model/graph.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"

namespace tessera {

int Graph::AddValue(Value value) {
  values_.push_back(std::move(value));
  return static_cast<int>(values_.size()) - 1;
}

int Graph::AddVariable(std::string name, std::vector<uint64_t> shape, const Initializer& initializer) {
  VariableSpec spec;
  spec.set_name(std::move(name));
  for (uint64_t size : shape) spec.add_shape(size);
  *spec.mutable_initializer() = initializer;
  variables_.push_back(std::move(spec));
  return static_cast<int>(variables_.size()) - 1;
}

void Graph::AddSegment(std::string name, uint32_t dim, const Initializer& initializer) {
  Segment segment;
  segment.set_name(std::move(name));
  segment.set_dim(dim);
  *segment.mutable_initializer() = initializer;
  segments_.push_back(std::move(segment));
}

absl::Status Graph::Check() const {
  enum { kUnset, kWritten, kRead };
  std::vector<int> state(values_.size(), kUnset);
  for (const auto& layer : layers_) {
    for (int v : layer->reads()) {
      if (v < 0 || v >= static_cast<int>(values_.size()) || state[v] != kWritten) {
        return absl::InternalError(
            absl::StrCat("layer ", layer->name(), " reads value ", v, ", which was not written before, or is read twice"));
      }
      state[v] = kRead;
    }
    TESSERA_RETURN_IF_ERROR(layer->Check(*this));
    for (int v : layer->writes()) {
      if (v < 0 || v >= static_cast<int>(values_.size()) || state[v] != kUnset) {
        return absl::InternalError(absl::StrCat("layer ", layer->name(), " writes value ", v, ", which there is not, or is written twice"));
      }
      state[v] = kWritten;
    }
  }
  for (size_t v = 0; v < values_.size(); ++v) {
    if (state[v] == kUnset) return absl::InternalError(absl::StrCat("value ", values_[v].name, " is written by no layer"));
    if (state[v] == kWritten && values_[v].gradient_width > 0) {
      return absl::InternalError(absl::StrCat("value ", values_[v].name, " wants a gradient, but is read by no layer"));
    }
  }
  return absl::OkStatus();
}

absl::Status Graph::CheckVariable(const std::string& layer, int variable, const std::vector<uint64_t>& shape) const {
  if (variable < 0 || variable >= static_cast<int>(variables_.size())) {
    return absl::InternalError(absl::StrCat("layer ", layer, ": no variable ", variable));
  }
  const VariableSpec& spec = variables_[variable];
  if (!std::equal(shape.begin(), shape.end(), spec.shape().begin(), spec.shape().end())) {
    return absl::InternalError(absl::StrCat("layer ", layer, ": variable ", spec.name(), " is [", absl::StrJoin(spec.shape(), ", "),
                                            "], but the layer needs [", absl::StrJoin(shape, ", "), "]"));
  }
  return absl::OkStatus();
}

}  // namespace tessera
