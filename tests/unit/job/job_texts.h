// Jobs as people write them, for tests of reading and printing.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "common/job/job_file.h"

namespace tessera {

// A complete job, every part of it.
inline constexpr char kComplete[] = R"(name: feed-rank
seed: 7
data:
  format: csv
  csv: {separator: ";", quote: '"', header: true, missing: ["", "?"]}
  train: {files: [/logs/day_*.csv.gz], exclude: [/logs/day_23.csv.gz], shuffle: 1000000}
  evaluate: {files: [/logs/day_23.csv.gz], holdout: 0.05}
  labels: [{column: clk, positive: ["1"], negative: ["0"]}]
  keep: [request_id]
  # group is read and not used yet
  group: user
  block_bytes: 64KiB
features:
  - {match: [ts, "debug_*"], as: ignored}
  - {match: [item_id], as: categorical, embedding: item}
  - {match: [price, "cnt_*"], as: numeric, treat: [bucket, scaled]}
  - {match: ["*"], as: categorical}
model: {type: deepfm, embedding_dim: 16, hidden: [400, 400, 400], dropout: 0.1}
optimizers: {sparse: {adagrad: {learning_rate: 0.02}}, dense: {adam: {learning_rate: 0.001}}}
training: {mode: sync, batch_size: auto, epochs: auto, backend: cpu, workers: 2, shares: 6, threads: 2, patience: 90s}
evaluation: {every: 1 epoch, monitor: auc, patience: 2, restore_best: true}
storage: {directory: /state, memory_per_server: 4GiB}
checkpoint: {directory: /checkpoints, every: 10m, keep: 3}
)";

inline constexpr char kSmallJob[] = "data: {format: criteo, train: {files: /day_0.tsv}}\n";

inline JobFile Parse(const std::string& text, const std::vector<std::string>& sets = {}, const std::string& path = "job.yaml") {
  auto job = ParseJob(text, path, sets);
  EXPECT_TRUE(job.ok()) << job.status().message();
  return job.ok() ? *std::move(job) : JobFile{};
}

}  // namespace tessera
