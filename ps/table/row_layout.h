// What a row of a table holds and how it starts: header, value and optimiser state back to back.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/plan.pb.h"
#include "ps/optimizer/initializer.h"
#include "ps/optimizer/optimizer.h"

namespace tessera {

// What a row knows beside its floats; as on disk (README, "A saved shard").
struct RowHeader {
  uint64_t lsn = 0;        // of the last record applied
  uint64_t last_step = 0;  // of the last gradient applied
  uint32_t period = 0;     // day of the job's data when it was last trained
  float show = 0;          // occurrences in training rows
  float click = 0;         // not counted yet
};

// What one commit or push means for every value it touches.
struct UpdateRule {
  double learning_rate = 0;
  uint64_t optimizer_step = 1;
  double divisor = 1;  // gradient sums are divided by this
  uint64_t step = 0;   // becomes last_step
  uint32_t period = 0; // becomes period
  uint64_t lsn = 0;    // becomes lsn; a row or chunk that has it already, or a higher one, is left alone
  // The oldest record that is needed to do this again: a commit's oldest stage. 0: lsn itself.
  uint64_t first_lsn = 0;
};

// Floats of a row: the segments' values back to back, then the state of each run of adjacent segments that share an optimiser.
// Thread-safe: constant after construction.
class RowLayout {
 public:
  // INVALID_ARGUMENT names the table and the segment that is wrong.
  static absl::StatusOr<std::shared_ptr<const RowLayout>> Make(const TableSpec& table, uint64_t seed);

  const std::string& table() const { return table_; }
  uint32_t dim() const { return dim_; }              // floats of the value
  uint32_t floats() const { return dim_ + state_floats_; }

  // The value of a row no gradient has touched. REQUIRES: values.size() == dim().
  void InitialValue(uint64_t id, float* values) const;
  // Value and state. REQUIRES: room for floats().
  void InitialFloats(uint64_t id, float* floats) const;

  // An update made ready for many rows.
  class Update {
   public:
    Update(const RowLayout& layout, const UpdateRule& rule);
    // Applies a row's gradient sums (dim() floats) to its value and state (floats() floats).
    void Apply(const float* sums, float* floats) const;

   private:
    const RowLayout& layout_;
    const float scale_;
    std::vector<StepFactors> factors_;
  };

 private:
  struct SegmentStart {
    uint32_t offset;
    uint32_t dim;
    InitialDistribution distribution;
  };
  // Adjacent segments with equal optimisers are updated at once: a row of 1 + 16 floats costs one call.
  struct OptimizerRun {
    uint32_t offset;
    uint32_t dim;
    uint32_t state_offset;  // among the row's floats
    uint32_t state_floats;
    double rate_scale;  // of the step's learning rate
    std::unique_ptr<ValueOptimizer> optimizer;
  };

  RowLayout() = default;
  std::string table_;
  uint64_t key_ = 0;
  uint32_t dim_ = 0;
  uint32_t state_floats_ = 0;
  std::vector<SegmentStart> segments_;
  std::vector<OptimizerRun> runs_;
};

}  // namespace tessera
