// The layers that models are made of: each a few calls of the backend's operations.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "worker/model/graph.h"

namespace tessera {

// Look-up of every field, first-order terms and the factorisation machine. Table rows are [weight, embedding]; with F fields, d embedding
// dimensions and w dense inputs:
//   reads   nothing
//   writes  sums [d], and x [F * d + w] (unless -1): pooled embeddings, then the dense inputs
//   logits  = first-order terms + second-order terms
struct EmbedLayer : public Layer {
  int sums = -1;
  int x = -1;
  int dense_weight = -1;  // variable [w]; -1 without dense inputs

  std::string name() const override { return "embed"; }
  std::vector<int> reads() const override { return {}; }
  std::vector<int> writes() const override { return x < 0 ? std::vector<int>{sums} : std::vector<int>{sums, x}; }
  absl::Status Check(const Graph& graph) const override;
  void Forward(const Graph& graph, Pass* pass) const override;
  void Backward(const Graph& graph, Pass* pass) const override;
};

// output = dropout(relu(input w + bias)); the bias and the rate are those of the output value.
struct HiddenLayer : public Layer {
  int input = -1;
  int output = -1;
  int weight = -1;  // variable [in, out]
  int number = 0;   // sets this layer's dropout apart from the others'

  std::string name() const override;
  std::vector<int> reads() const override { return {input}; }
  std::vector<int> writes() const override { return {output}; }
  absl::Status Check(const Graph& graph) const override;
  void Forward(const Graph& graph, Pass* pass) const override;
  void Backward(const Graph& graph, Pass* pass) const override;
};

// logits += h . w + bias; when training, loss and the gradients of the logits and of h too. Without h (-1) only the bias is added.
struct OutputLayer : public Layer {
  int h = -1;
  int weight = -1;  // variable [k, 1]; -1 without h
  int bias = -1;    // variable [1]

  std::string name() const override { return "output"; }
  std::vector<int> reads() const override { return h < 0 ? std::vector<int>{} : std::vector<int>{h}; }
  std::vector<int> writes() const override { return {}; }
  absl::Status Check(const Graph& graph) const override;
  void Forward(const Graph& graph, Pass* pass) const override;
  // Nothing: one pass over h did both.
  void Backward(const Graph&, Pass*) const override {}
};

}  // namespace tessera
