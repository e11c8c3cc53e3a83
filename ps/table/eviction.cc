#include "ps/table/eviction.h"

#include <algorithm>
#include <tuple>

namespace tessera {
namespace {

// Steps between two looks through one partition: an eighth of the age that matters, at most this.
constexpr uint64_t kLookStepsMax = 256;

bool IsUnused(const EvictionRule& rule, const EvictionMoment& moment, const EvictionRow& row) {
  const bool by_steps = rule.unused_steps > 0 && moment.step > row.last_step && moment.step - row.last_step > rule.unused_steps;
  const bool by_periods = rule.unused_periods > 0 && moment.period > row.period && moment.period - row.period > rule.unused_periods;
  return by_steps || by_periods || row.norm < rule.norm;
}

}  // namespace

bool IsEvictionDue(const EvictionRule& rule, const EvictionMoment& moment, uint32_t partition, uint64_t rows) {
  if (rule.partition_rows > 0 && rows > rule.partition_rows) return true;
  if (rule.unused_periods > 0 && moment.new_period) return true;
  if (rule.unused_steps == 0 && !(rule.norm > 0)) return false;
  uint64_t interval = kLookStepsMax;
  if (rule.unused_steps > 0) interval = std::clamp<uint64_t>(rule.unused_steps / 8, 1, kLookStepsMax);
  return (moment.step + partition) % interval == 0;
}

std::vector<uint64_t> SelectEvicted(const EvictionRule& rule, const EvictionMoment& moment, uint64_t kept, std::vector<EvictionRow> rows) {
  std::vector<uint64_t> ids;
  const auto unused = std::partition(rows.begin(), rows.end(), [&](const EvictionRow& row) { return !IsUnused(rule, moment, row); });
  for (auto it = unused; it != rows.end(); ++it) ids.push_back(it->id);
  rows.erase(unused, rows.end());
  if (rule.partition_rows > 0 && kept + rows.size() > rule.partition_rows) {
    const uint64_t low = rule.partition_rows - rule.partition_rows / 16;
    const size_t over = std::min<uint64_t>(rows.size(), kept + rows.size() - low);
    const auto older = [](const EvictionRow& a, const EvictionRow& b) { return std::tie(a.last_step, a.id) < std::tie(b.last_step, b.id); };
    if (over < rows.size()) std::nth_element(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(over), rows.end(), older);
    for (size_t i = 0; i < over; ++i) ids.push_back(rows[i].id);
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace tessera
