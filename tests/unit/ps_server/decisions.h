// Shares' gradients and the decisions that name them.
#pragma once

#include <cstdint>
#include <vector>

#include "common/random.h"
#include "proto/parameter_server.pb.h"

namespace tessera {

// What one share contributes to a step: gradients for any ids and for all dense variables.
struct ShareGradients {
  uint32_t share = 0;
  uint32_t worker = 1;
  uint64_t generation = 1;
  uint64_t rows = 10;
  std::vector<uint64_t> ids;
  std::vector<float> values;
  std::vector<float> dense;  // all variables, flattened one after the other
};

inline Decision Start() {
  Decision decision;
  decision.set_incarnation(1);
  return decision;
}

// d(step) that names these shares.
inline Decision Decide(uint64_t step, const std::vector<ShareGradients>& shares) {
  Decision decision;
  decision.set_incarnation(1);
  decision.set_step(step);
  decision.set_optimizer_step(step);
  decision.set_sparse_learning_rate(0.05);
  decision.set_dense_learning_rate(0.01);
  double rows = 0;
  for (const ShareGradients& share : shares) {
    Winner* winner = decision.add_winners();
    winner->set_share(share.share);
    winner->set_worker(share.worker);
    winner->set_generation(share.generation);
    winner->set_rows(share.rows);
    rows += static_cast<double>(share.rows);
  }
  decision.set_rows(rows);
  return decision;
}

inline std::vector<uint64_t> WorldIds(uint64_t world = 3000) {
  std::vector<uint64_t> ids;
  for (uint64_t i = 0; i < world; ++i) ids.push_back(Mix64(i));
  return ids;
}

}  // namespace tessera
