#include "worker/model/device_batch.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/partition.h"
#include "common/status_macros.h"

namespace tessera {
namespace {

int64_t RowFloats(const Graph& graph) {
  int64_t floats = 0;
  for (const Segment& segment : graph.segments()) floats += segment.dim();
  return floats;
}

absl::Status CheckSize(const char* what, size_t size, size_t wanted) {
  if (size == wanted) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(what, ": ", size, " elements, but the model needs ", wanted));
}

template <class T>
absl::Span<const T> Host(const std::vector<T>& values) {
  return absl::MakeConstSpan(values);
}

}  // namespace

DeviceBatch::DeviceBatch(const Graph& graph, Backend* backend) : graph_(graph), backend_(backend), row_dim_(RowFloats(graph)) {
  for (const VariableSpec& variable : graph.variables()) variable_floats_ += static_cast<int64_t>(ElementCount(variable));
  for (int i = 0; i < kArrays; ++i) arrays_.emplace_back(backend);
  for (size_t v = 0; v < graph.values().size(); ++v) {
    values_.emplace_back(backend);
    value_gradients_.emplace_back(backend);
  }
}

absl::Status DeviceBatch::Check(const Batch& batch, const ModelValues& values) const {
  const Rows& rows = batch.rows;
  const size_t slots = rows.size() * static_cast<size_t>(graph_.fields());
  TESSERA_RETURN_IF_ERROR(CheckSize("fields of the batch", rows.fields, graph_.fields()));
  TESSERA_RETURN_IF_ERROR(CheckSize("dense inputs", rows.dense.size(), rows.size() * static_cast<size_t>(graph_.dense())));
  if (rows.offsets.empty()) TESSERA_RETURN_IF_ERROR(CheckSize("ids", rows.ids.size(), slots));
  if (!rows.offsets.empty()) TESSERA_RETURN_IF_ERROR(CheckSize("offsets", rows.offsets.size(), slots + 1));
  if (!rows.scales.empty()) TESSERA_RETURN_IF_ERROR(CheckSize("scales", rows.scales.size(), rows.ids.size()));
  TESSERA_RETURN_IF_ERROR(CheckSize("batch.inverse", batch.inverse.size(), rows.ids.size()));
  TESSERA_RETURN_IF_ERROR(CheckSize("values of the table", values.rows.size(), batch.unique_ids.size() * row_dim_));
  return CheckSize("values of the dense variables", values.dense.size(), variable_floats_);
}

absl::Status DeviceBatch::Bring(const Batch& batch, const ModelValues& values, Pass* pass) {
  const int64_t rows = static_cast<int64_t>(batch.size()), ids = static_cast<int64_t>(batch.unique_ids.size());
  Occurrences& o = pass->occurrences;
  pass->backend = backend_;
  o.rows = rows;
  o.fields = graph_.fields();
  TESSERA_ASSIGN_OR_RETURN(o.inverse, backend_->Upload(Host(batch.inverse), &arrays_[kInverse]));
  TESSERA_ASSIGN_OR_RETURN(o.scales, backend_->Upload(Host(batch.rows.scales), &arrays_[kScales]));
  TESSERA_ASSIGN_OR_RETURN(o.offsets, backend_->Upload(Host(batch.rows.offsets), &arrays_[kOffsets]));
  TESSERA_ASSIGN_OR_RETURN(const auto table, backend_->Upload(values.rows, &arrays_[kRows]));
  pass->rows = ConstTensor(table, ids, row_dim_);
  TESSERA_ASSIGN_OR_RETURN(const auto dense, backend_->Upload(Host(batch.rows.dense), &arrays_[kDense]));
  pass->dense = ConstTensor(dense, rows, graph_.dense());
  TESSERA_ASSIGN_OR_RETURN(const auto variables, backend_->Upload(values.dense, &arrays_[kVariables]));
  int64_t at = 0;
  for (const VariableSpec& variable : graph_.variables()) {
    const int64_t size = static_cast<int64_t>(ElementCount(variable));
    pass->variables.push_back(variables.Sub(at, size));
    at += size;
  }
  if (!pass->training) return absl::OkStatus();
  TESSERA_ASSIGN_OR_RETURN(o.begin, backend_->Upload(Host(batch.occurrence_begin), &arrays_[kBegin]));
  TESSERA_ASSIGN_OR_RETURN(o.order, backend_->Upload(Host(batch.occurrences), &arrays_[kOrder]));
  TESSERA_ASSIGN_OR_RETURN(pass->labels, backend_->Upload(Host(batch.rows.labels), &arrays_[kLabels]));
  if (!o.offsets.empty()) {
    TESSERA_ASSIGN_OR_RETURN(const auto slots, arrays_[kSlots].Reserve<uint32_t>(o.inverse.size));
    backend_->ExpandOffsets(o.offsets, slots);
    o.slots = slots;
  }
  return absl::OkStatus();
}

absl::Status DeviceBatch::Reserve(int64_t rows, Pass* pass) {
  TESSERA_ASSIGN_OR_RETURN(pass->logits, arrays_[kLogits].Reserve<float>(rows));
  if (pass->training) {
    TESSERA_ASSIGN_OR_RETURN(pass->logit_gradient, arrays_[kLogitGradient].Reserve<float>(rows));
  }
  for (size_t v = 0; v < graph_.values().size(); ++v) {
    const Value& value = graph_.values()[v];
    TESSERA_ASSIGN_OR_RETURN(const auto data, values_[v].Reserve<float>(rows * value.width));
    pass->values.emplace_back(data, rows, value.width);
    pass->value_gradients.emplace_back();
    if (!pass->training || value.gradient_width == 0) continue;
    TESSERA_ASSIGN_OR_RETURN(const auto gradient, value_gradients_[v].Reserve<float>(rows * value.gradient_width));
    pass->value_gradients.back() = Tensor(gradient, rows, value.gradient_width);
  }
  return absl::OkStatus();
}

absl::Status DeviceBatch::ReserveGradients(const Batch& batch, ModelGradients* gradients, Pass* pass) {
  const int64_t ids = static_cast<int64_t>(batch.unique_ids.size());
  gradients->rows.resize(ids * row_dim_);
  gradients->dense.resize(variable_floats_);
  TESSERA_ASSIGN_OR_RETURN(const auto rows, backend_->ResultFor(absl::MakeSpan(gradients->rows), &arrays_[kRowGradient]));
  pass->row_gradient = Tensor(rows, ids, row_dim_);
  TESSERA_ASSIGN_OR_RETURN(variable_gradients_, backend_->ResultFor(absl::MakeSpan(gradients->dense), &arrays_[kVariableGradients]));
  int64_t at = 0;
  for (const DeviceSpan<const float>& variable : pass->variables) {
    pass->variable_gradients.push_back(variable_gradients_.Sub(at, variable.size));
    at += variable.size;
  }
  TESSERA_ASSIGN_OR_RETURN(pass->loss, backend_->ResultFor(absl::MakeSpan(&gradients->loss, 1), &arrays_[kLoss]));
  return absl::OkStatus();
}

void DeviceBatch::TakeHome(const Pass& pass, ModelGradients* gradients) {
  const Tensor& rows = pass.row_gradient;
  backend_->Download(DeviceSpan<float>{rows.data, rows.rows * rows.cols}, absl::MakeSpan(gradients->rows));
  backend_->Download(variable_gradients_, absl::MakeSpan(gradients->dense));
  backend_->Download(pass.loss, absl::MakeSpan(&gradients->loss, 1));
}

Pass SliceRows(const Pass& pass, int64_t begin, int64_t count) {
  Pass part = pass;
  Occurrences& o = part.occurrences;
  o.rows = count;
  if (o.offsets.empty()) {
    o.inverse = o.inverse.Sub(begin * o.fields, count * o.fields);
    if (!o.scales.empty()) o.scales = o.scales.Sub(begin * o.fields, count * o.fields);
  } else {
    o.offsets = o.offsets.Sub(begin * o.fields, count * o.fields + 1);
  }
  part.dense = pass.dense.Rows(begin, count);
  return part;
}

}  // namespace tessera
