#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/partition.h"
#include "worker/model/model.h"

namespace tessera {
namespace {

// -1 if all are finite. A sum of zeros times values is NaN as soon as one is not finite: one vector pass in the usual case.
int64_t FirstNonFinite(absl::Span<const float> values) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (size_t i = 0; i < values.size(); ++i) sum += 0.0f * values[i];
  if (sum == 0) return -1;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) return static_cast<int64_t>(i);
  }
  return -1;
}

struct Slot {
  size_t row;
  size_t field;
};

Slot SlotOfOccurrence(const Rows& rows, uint32_t occurrence) {
  size_t slot = occurrence;
  if (!rows.offsets.empty()) {
    slot = std::upper_bound(rows.offsets.begin(), rows.offsets.end(), occurrence) - rows.offsets.begin() - 1;
  }
  return {slot / rows.fields, slot % rows.fields};
}

std::string NameOfSegment(const TableSpec& table, int64_t column) {
  for (const Segment& segment : table.segments()) {
    if (column < segment.dim()) return segment.name();
    column -= segment.dim();
  }
  return "value";
}

}  // namespace

std::string FindNonFinite(const Plan& plan, const Batch& batch, const ModelGradients& gradients, size_t* row) {
  if (row != nullptr) *row = 0;
  if (const int64_t at = FirstNonFinite(gradients.rows); at >= 0) {
    const int64_t dim = RowDim(plan.table()), id = at / dim;
    const std::string what = absl::StrCat("gradient of ", NameOfSegment(plan.table(), at % dim), " of table ", plan.table().name());
    if (batch.occurrence_begin[id] == batch.occurrence_begin[id + 1]) {  // a rare row that no occurrence uses: its value is not finite
      return absl::StrCat(what, " is ", gradients.rows[at], " (feature id ", batch.unique_ids[id], ", in no row of the batch)");
    }
    const Slot slot = SlotOfOccurrence(batch.rows, batch.occurrences[batch.occurrence_begin[id]]);
    if (row != nullptr) *row = slot.row;
    const uint64_t key = slot.row < batch.rows.keys.size() ? batch.rows.keys[slot.row] : 0;
    return absl::StrCat(what, ", field ", plan.schema().fields(static_cast<int>(slot.field)), " is ", gradients.rows[at], " (feature id ",
                        batch.unique_ids[id], ", row key ", key, ": file ", RowKeyFile(key), ", byte ", RowKeyOffset(key), ")");
  }
  if (const int64_t at = FirstNonFinite(gradients.dense); at >= 0) {
    int64_t begin = 0;
    for (const VariableSpec& variable : plan.variables()) {
      const int64_t size = static_cast<int64_t>(ElementCount(variable));
      if (at < begin + size) return absl::StrCat("gradient of ", variable.name(), "[", at - begin, "] is ", gradients.dense[at]);
      begin += size;
    }
  }
  if (!std::isfinite(gradients.loss)) return absl::StrCat("loss is ", gradients.loss);
  return "";
}

}  // namespace tessera
