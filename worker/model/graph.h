// Models as graphs: a list of layers over values, checked for shapes before the first step. What a model is made of is data, so the
// trainer knows none of them by name.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "proto/plan.pb.h"
#include "worker/compute/backend.h"

namespace tessera {

// What flows from one layer to the next: `width` floats for each row of the batch.
struct Value {
  std::string name;
  int64_t width = 0;
  // Leading columns whose gradient is wanted; 0: none.
  int64_t gradient_width = 0;
  // Of a value that left a ReLU: the variable of its bias and the dropout after it. Its gradient is the one before that ReLU: the layer
  // that reads the value carries the gradient through and sums the bias's in the same pass.
  int bias = -1;
  double dropout = 0;
};

// One batch on its way through the graph. Spans are device memory.
struct Pass {
  Backend* backend = nullptr;
  bool training = false;
  uint64_t dropout_key = 0;  // of (seed, step); each layer adds its number
  uint64_t first_row = 0;
  Occurrences occurrences;
  ConstTensor rows;                                // [u, row dimension]: the table's values
  Tensor row_gradient;                             // [u, row dimension]
  ConstTensor dense;                               // [n, dense inputs]
  DeviceSpan<const float> labels;                  // [n]
  DeviceSpan<float> logits;                        // [n]: layers add their terms
  DeviceSpan<float> logit_gradient;                // [n]
  DeviceSpan<double> loss;                         // [1]
  std::vector<DeviceSpan<const float>> variables;  // by variable
  std::vector<DeviceSpan<float>> variable_gradients;
  std::vector<Tensor> values;           // by value: [n, width]
  std::vector<Tensor> value_gradients;  // by value: [n, gradient_width]
};

class Graph;

// Constant after construction; all that belongs to a batch is in the Pass.
class Layer {
 public:
  virtual ~Layer() = default;
  virtual std::string name() const = 0;
  virtual std::vector<int> reads() const = 0;  // values
  virtual std::vector<int> writes() const = 0;
  // INTERNAL with the layer's and the value's name where shapes do not fit.
  virtual absl::Status Check(const Graph& graph) const = 0;
  virtual void Forward(const Graph& graph, Pass* pass) const = 0;
  // After Backward of all later layers. Writes the gradients of what it reads and of its variables.
  virtual void Backward(const Graph& graph, Pass* pass) const = 0;
};

// Thread-compatible; constant once Check has passed.
class Graph {
 public:
  int AddValue(Value value);
  int AddVariable(std::string name, std::vector<uint64_t> shape, const Initializer& initializer);
  void AddSegment(std::string name, uint32_t dim, const Initializer& initializer);
  void AddLayer(std::unique_ptr<Layer> layer) { layers_.push_back(std::move(layer)); }
  void set_inputs(int64_t fields, int64_t dense) { fields_ = fields, dense_ = dense; }

  // Every layer's shapes fit; every value is written once, before it is read once (gradients are not added up).
  absl::Status Check() const;

  const std::vector<std::unique_ptr<Layer>>& layers() const { return layers_; }
  const std::vector<Value>& values() const { return values_; }
  const Value& value(int v) const { return values_[v]; }
  // Optimizers are not set: they are the job's, not the model's.
  const std::vector<VariableSpec>& variables() const { return variables_; }
  const std::vector<Segment>& segments() const { return segments_; }
  int64_t fields() const { return fields_; }
  int64_t dense() const { return dense_; }
  int64_t embedding_dim() const { return segments_.empty() ? 0 : segments_.back().dim(); }

  // Fails unless the variable's shape is the one given; for layers' checks.
  absl::Status CheckVariable(const std::string& layer, int variable, const std::vector<uint64_t>& shape) const;

 private:
  std::vector<std::unique_ptr<Layer>> layers_;
  std::vector<Value> values_;
  std::vector<VariableSpec> variables_;
  std::vector<Segment> segments_;
  int64_t fields_ = 0;
  int64_t dense_ = 0;
};

}  // namespace tessera
