// Scores of predictions, from counts that merge: workers count, the coordinator adds up, and the result is the same at any number of
// workers. AUC (probability that a random positive is ranked above a random negative, ties count half) comes from counts on a fixed grid
// in logit space; logloss and mean prediction are summed per block of the input and added in block order.
#pragma once

#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "proto/coordinator.pb.h"

namespace tessera {

// Width of a grid cell in logits. Two predictions closer than this may tie; over the data sets here that moves the AUC by less than 1e-6.
inline constexpr double kScoreCellWidth = 0x1.0p-18;
// Logits beyond +-32 (a probability of 1e-14) share the outermost cells.
inline constexpr double kScoreLogitMax = 32.0;

// The cell of a logit: monotone. REQUIRES: logit is finite.
uint32_t ScoreCell(float logit);
// Numerically stable log(1 + exp(logit)) - label * logit, in double.
double LogLoss(float logit, float label);
// The probability of a logit, as predict prints it and calibration counts it.
float Sigmoid(float logit);

// Counts predictions, merges counts, and turns them into a score. Owned by one thread.
class ScoreCounter {
 public:
  // Adds one run of rows of one block. `labels` are 0 or 1. REQUIRES: logits finite, sizes equal. Rows of one block must be added in
  // file order; blocks in any order.
  void Add(uint64_t block, absl::Span<const float> logits, absl::Span<const float> labels);
  // Adds another worker's counts. INVALID_ARGUMENT when a block is in both, or the counts cannot be those of any rows.
  absl::Status Merge(const ScoreCounts& counts);
  void Encode(ScoreCounts* counts) const;
  // Fields that are undefined stay unset: AUC without both classes, anything without rows.
  Score Finish() const;

 private:
  struct Cell {
    uint64_t positives = 0;
    uint64_t negatives = 0;
  };
  struct Sums {
    uint64_t rows = 0;
    uint64_t positives = 0;
    double logloss = 0;
    double prediction = 0;
  };
  absl::flat_hash_map<uint32_t, Cell> cells_;
  absl::flat_hash_map<uint64_t, Sums> blocks_;
};

}  // namespace tessera
