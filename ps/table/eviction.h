// Which rows leave a table: a pure policy beside it. It sees one partition at a time, so its decisions do not depend on the number of
// servers.
#pragma once

#include <cstdint>
#include <vector>

namespace tessera {

// 0: that part is off.
struct EvictionRule {
  uint64_t unused_steps = 0;    // rows not trained for more steps than this
  uint32_t unused_periods = 0;  // rows not trained for more periods than this
  uint64_t partition_rows = 0;  // most rows of a partition
  float norm = 0;               // rows whose value is shorter

  bool any() const { return unused_steps > 0 || unused_periods > 0 || partition_rows > 0 || norm > 0; }
};

// When an update asks for what leaves with it.
struct EvictionMoment {
  uint64_t step = 0;
  uint32_t period = 0;
  bool new_period = false;  // the first update of this period
};

// What the policy knows of a row.
struct EvictionRow {
  uint64_t id = 0;
  uint64_t last_step = 0;
  uint32_t period = 0;
  float norm = 0;  // length of the value
};

// Whether partition p is looked through at this moment: at the first update of a period for unused_periods, whenever it is over its
// budget, and otherwise each partition at its own steps, so that the work is spread. `rows` counts the new ones.
bool IsEvictionDue(const EvictionRule& rule, const EvictionMoment& moment, uint32_t partition, uint64_t rows);

// The ids that leave, ascending. `rows` are all that may leave; `kept` rows are not among them and stay. Over budget, the rows trained
// longest ago go (of equals the lower id), down to 1/16 below the budget, so that a full partition is not looked through at every step.
std::vector<uint64_t> SelectEvicted(const EvictionRule& rule, const EvictionMoment& moment, uint64_t kept, std::vector<EvictionRow> rows);

}  // namespace tessera
