// Separated values with named columns.
#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "worker/data/csv_split.h"
#include "worker/data/row_encoder.h"
#include "worker/data/row_parser.h"
#include "worker/data/separator_hint.h"

namespace tessera {
namespace {

constexpr int kAbsent = -1;

class CsvParser : public RowParser {
 public:
  CsvParser(CsvSplitter splitter, std::shared_ptr<const RowEncoder> encoder, std::vector<int> places, size_t cells, RowLabels labels)
      : splitter_(std::move(splitter)),
        encoder_(std::move(encoder)),
        places_(std::move(places)),
        cells_(cells),
        labels_(labels) {}

  void Prepare(Rows* rows) const override { encoder_->Prepare(rows); }

  bool Parse(std::string_view line, RowScratch* scratch, Rows* rows, std::string* error) const override {
    if (!splitter_.Split(line, &scratch->cells, &scratch->unquoted, error)) return false;
    const size_t found = scratch->cells.size();
    if (found != cells_) {
      *error = FieldCountError(line, splitter_.separator(), found, cells_);
      const bool may_lack = !splitter_.has_header() && !encoder_->labels_wanted();
      if (may_lack) *error += LikeFirstRow(found, cells_, labels_ == RowLabels::kAbsent);
      return false;
    }
    scratch->ordered.resize(places_.size());
    for (size_t i = 0; i < places_.size(); ++i) {
      scratch->ordered[i] = places_[i] == kAbsent ? std::string_view() : scratch->cells[places_[i]];
    }
    return encoder_->Encode(scratch->ordered.data(), rows, error);
  }

  bool EmptyLinesAreRows() const override { return cells_ == 1 && !encoder_->labels_wanted(); }

  bool Fits(std::string_view first_row) const override {
    std::vector<std::string_view> cells;
    std::string unquoted;
    std::string error;
    return splitter_.Split(first_row, &cells, &unquoted, &error) && cells.size() == cells_;
  }

 private:
  const CsvSplitter splitter_;
  const std::shared_ptr<const RowEncoder> encoder_;
  const std::vector<int> places_;  // of the schema's columns among the file's
  const size_t cells_;             // of each row
  const RowLabels labels_;
};

// Where the schema's columns stand in a file with this header.
absl::StatusOr<std::vector<int>> FindColumns(const Schema& schema, const RowEncoder& encoder, const CsvSplitter& splitter,
                                             const std::vector<std::string>& header) {
  absl::flat_hash_map<std::string_view, int> place_of;
  for (size_t i = 0; i < header.size(); ++i) place_of[header[i]] = static_cast<int>(i);
  std::vector<int> places;
  for (size_t i = 0; i < encoder.columns(); ++i) {
    const std::string& name = schema.columns(static_cast<int>(i)).name();
    const auto found = place_of.find(name);
    places.push_back(found == place_of.end() ? kAbsent : found->second);
    if (places.back() == kAbsent && encoder.IsNeeded(i)) {
      const char* what = i == encoder.label_column() ? "the label" : "a feature of the job";
      return absl::InvalidArgumentError(NoColumnError(splitter, header, name, what));
    }
  }
  return places;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const RowParser>> NewCsvParser(const Plan& plan, std::shared_ptr<const RowEncoder> encoder,
                                                              const std::vector<std::string>* header, RowLabels labels) {
  TESSERA_ASSIGN_OR_RETURN(CsvSplitter splitter, CsvSplitter::Create(plan.job().data().csv()));
  std::vector<std::string> names = header != nullptr ? *header : NumberedColumns(encoder->columns());
  if (labels == RowLabels::kAbsent) names.erase(names.begin() + static_cast<std::ptrdiff_t>(encoder->label_column()));
  TESSERA_ASSIGN_OR_RETURN(std::vector<int> places, FindColumns(plan.schema(), *encoder, splitter, names));
  return std::make_shared<const CsvParser>(std::move(splitter), std::move(encoder), std::move(places), names.size(), labels);
}

}  // namespace tessera
