// libsvm: sparse rows of index:value pairs. An index is a token of the embedding "index", its value scales the embedding; ranges of
// indices are fields.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "common/feature_id.h"
#include "worker/data/label_parser.h"
#include "worker/data/libsvm_line.h"
#include "worker/data/row_parser.h"
#include "worker/data/schema_fields.h"

namespace tessera {
namespace {

// Fields of indices below this are looked up, not searched.
constexpr size_t kFieldTableSize = 1 << 16;

class LibsvmParser : public RowParser {
 public:
  LibsvmParser(const Plan& plan, ReadOptions options, RowLabels labels)
      : options_(options),
        labels_(labels),
        label_parser_(plan.job().data()),
        hasher_(kLibsvmEmbedding),
        field_end_(plan.schema().libsvm_field_end().begin(), plan.schema().libsvm_field_end().end()),
        fields_(static_cast<uint32_t>(plan.schema().fields_size())) {
    const size_t table_size = field_end_.empty() ? 0 : std::min<size_t>(kFieldTableSize, field_end_.back());
    for (uint64_t index = 0; index < table_size; ++index) field_table_.push_back(SearchField(index));
  }

  void Prepare(Rows* rows) const override {
    rows->fields = fields_;
    rows->dense_width = 0;
    if (rows->offsets.empty()) rows->offsets.push_back(0);
  }

  bool EmptyLinesAreRows() const override { return labels_ == RowLabels::kAbsent; }
  bool IsComment(std::string_view line) const override { return LibsvmLine(line).IsComment(); }
  bool Fits(std::string_view first_row) const override {
    return LibsvmLine(first_row).TakeLabel().empty() == (labels_ == RowLabels::kAbsent);
  }

  bool Parse(std::string_view line, RowScratch* scratch, Rows* rows, std::string* error) const override {
    LibsvmLine tokens(line);
    if (!ParseLabel(tokens.TakeLabel(), rows, error)) return false;
    scratch->field_of.clear();
    scratch->ids.clear();
    scratch->values.clear();
    bool ascending = true;
    bool ones = true;
    LibsvmLine::Pair pair;
    while (tokens.TakePair(&pair, error)) {
      const uint32_t field = pair.index < field_table_.size() ? field_table_[pair.index] : SearchField(pair.index);
      ascending = ascending && (scratch->field_of.empty() || scratch->field_of.back() <= field);
      ones = ones && pair.value == 1;
      scratch->field_of.push_back(field);
      scratch->ids.push_back(hasher_.Id(pair.digits));
      scratch->values.push_back(pair.value);
    }
    if (!error->empty()) return false;
    Append(scratch, ascending, ones, rows);
    return true;
  }

 private:
  uint32_t SearchField(uint64_t index) const {
    const auto end = std::upper_bound(field_end_.begin(), field_end_.end(), index);
    return std::min<uint32_t>(static_cast<uint32_t>(end - field_end_.begin()), fields_ - 1);
  }

  bool ParseLabel(std::string_view text, Rows* rows, std::string* error) const {
    const float label = text.empty() ? std::numeric_limits<float>::quiet_NaN() : label_parser_.Parse(text);
    if (options_.labels && std::isnan(label)) {
      *error = label_parser_.Unknown(text);
      return false;
    }
    rows->labels.push_back(label);
    return true;
  }

  // Puts the occurrences in field order, in a field as they stand in the line.
  void Append(RowScratch* scratch, bool ascending, bool ones, Rows* rows) const {
    const size_t first = rows->ids.size();
    const size_t count = scratch->ids.size();
    std::vector<uint32_t>& next = scratch->next;  // where the next occurrence of each field goes
    next.assign(fields_ + 1, 0);
    for (const uint32_t field : scratch->field_of) ++next[field + 1];
    next[0] = static_cast<uint32_t>(first);
    for (uint32_t field = 0; field < fields_; ++field) {
      next[field + 1] += next[field];
      rows->offsets.push_back(next[field + 1]);
    }
    if (!ones) rows->scales.resize(first, 1.0f);  // so far every scale was 1
    const bool has_scales = !ones || !rows->scales.empty();
    if (ascending) {
      rows->ids.insert(rows->ids.end(), scratch->ids.begin(), scratch->ids.end());
      if (has_scales) rows->scales.insert(rows->scales.end(), scratch->values.begin(), scratch->values.end());
      return;
    }
    rows->ids.resize(first + count);
    if (has_scales) rows->scales.resize(first + count);
    for (size_t i = 0; i < count; ++i) {
      const uint32_t to = next[scratch->field_of[i]]++;
      rows->ids[to] = scratch->ids[i];
      if (has_scales) rows->scales[to] = scratch->values[i];
    }
  }

  const ReadOptions options_;
  const RowLabels labels_;
  const LabelParser label_parser_;
  const TokenHasher hasher_;
  const std::vector<uint64_t> field_end_;
  const uint32_t fields_;
  std::vector<uint32_t> field_table_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const RowParser>> NewLibsvmParser(const Plan& plan, ReadOptions options, RowLabels labels) {
  if (plan.schema().fields_size() == 0) return absl::InternalError("schema: a libsvm schema without fields");
  if (plan.job().data().keep_size() > 0) return absl::InvalidArgumentError("data.keep: libsvm rows have no named columns that could be kept");
  return std::make_shared<const LibsvmParser>(plan, options, labels);
}

}  // namespace tessera
