#include "worker/plan/libsvm_fields.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"

namespace tessera {
namespace {

// Bounds memory on data with millions of indices; those met later join the field they fall into.
constexpr size_t kIndicesMax = size_t{1} << 22;

}  // namespace

void LibsvmFieldFinder::Add(absl::Span<const SurveyEntry> entries) {
  row_.clear();
  for (const SurveyEntry& entry : entries) {
    if (entry.value != 0 && entry.index < std::numeric_limits<uint32_t>::max()) row_.push_back(static_cast<uint32_t>(entry.index));
  }
  std::sort(row_.begin(), row_.end());
  row_.erase(std::unique(row_.begin(), row_.end()), row_.end());
  for (size_t i = 0; i < row_.size(); ++i) {
    auto found = indices_.find(row_[i]);
    if (found == indices_.end()) {
      if (indices_.size() == kIndicesMax) continue;
      found = indices_.emplace(row_[i], Index{}).first;
    }
    if (i > 0) found->second.below = std::max(found->second.below, row_[i - 1] + 1);
    ++found->second.rows;
  }
}

std::vector<LibsvmFieldFinder::Run> LibsvmFieldFinder::Runs() const {
  std::vector<uint32_t> order;
  order.reserve(indices_.size());
  for (const auto& entry : indices_) order.push_back(entry.first);
  std::sort(order.begin(), order.end());
  std::vector<Run> runs;
  for (const uint32_t index : order) {
    const Index& seen = indices_.at(index);
    // The nearest index below in any row is enough: if it lies before the run, so do all the others.
    if (runs.empty() || seen.below > runs.back().begin) {
      if (!runs.empty()) runs.back().end = index;
      runs.push_back({index, index, 0});
    }
    runs.back().end = index + 1;
    runs.back().rows += seen.rows;
  }
  return runs;
}

// The share of all occurrences that lies before a run decides which field it goes to.
std::vector<LibsvmFieldFinder::Run> LibsvmFieldFinder::Merge(const std::vector<Run>& runs) {
  uint64_t total = 0;
  for (const Run& run : runs) total += run.rows;
  std::vector<Run> merged;
  uint64_t before = 0;
  uint64_t last_field = 0;
  for (const Run& run : runs) {
    const uint64_t field = before * kLibsvmFieldsMax / total;
    if (merged.empty() || field != last_field) merged.push_back({run.begin, run.end, 0});
    merged.back().end = run.end;
    merged.back().rows += run.rows;
    before += run.rows;
    last_field = field;
  }
  return merged;
}

void LibsvmFieldFinder::Finish(Schema* schema) const {
  std::vector<Run> runs = Runs();
  if (runs.empty()) runs.push_back({0, 1, 0});
  if (runs.size() > kLibsvmFieldsMax) runs = Merge(runs);
  for (size_t i = 0; i < runs.size(); ++i) {
    const bool last = i + 1 == runs.size();
    const uint32_t end = last ? runs[i].end : runs[i + 1].begin;
    schema->add_libsvm_field_end(end);
    if (last) {
      schema->add_fields(absl::StrCat(runs[i].begin, ".."));
    } else {
      schema->add_fields(end == runs[i].begin + 1 ? absl::StrCat(end - 1) : absl::StrCat(runs[i].begin, "..", end - 1));
    }
  }
}

}  // namespace tessera
