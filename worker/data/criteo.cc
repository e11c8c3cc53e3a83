// Criteo's layout: label, 13 integers, 26 categoricals, separated by tabs, no header; an empty cell is a missing value. For prediction
// the label may be absent, then in all rows of a file.
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "worker/data/field_scan.h"
#include "worker/data/row_encoder.h"
#include "worker/data/row_parser.h"
#include "worker/data/separator_hint.h"

namespace tessera {
namespace {

class CriteoParser : public RowParser {
 public:
  CriteoParser(std::shared_ptr<const RowEncoder> encoder, RowLabels labels)
      : encoder_(std::move(encoder)), lacking_(labels == RowLabels::kAbsent ? 1 : 0) {}

  void Prepare(Rows* rows) const override { encoder_->Prepare(rows); }

  bool Parse(std::string_view line, RowScratch* scratch, Rows* rows, std::string* error) const override {
    scratch->cells.resize(encoder_->columns());
    if (lacking_ > 0) scratch->cells[0] = std::string_view();
    const size_t wanted = encoder_->columns() - lacking_;
    const size_t found = SplitCells(line, '\t', wanted, scratch->cells.data() + lacking_);
    if (found != wanted) {
      *error = encoder_->labels_wanted() ? CriteoFieldCountError(line, found, wanted)
                                         : absl::StrCat(FieldCountError(line, '\t', found, wanted), LikeFirstRow(found, wanted, lacking_ > 0));
      return false;
    }
    return encoder_->Encode(scratch->cells.data(), rows, error);
  }

  bool Fits(std::string_view first_row) const override {
    std::string_view none;
    return SplitCells(first_row, '\t', 0, &none) == encoder_->columns() - lacking_;
  }

 private:
  const std::shared_ptr<const RowEncoder> encoder_;
  const size_t lacking_;  // columns in front that rows do not have
};

std::vector<std::string> MakeColumns() {
  std::vector<std::string> names = {"label"};
  for (int i = 1; i <= 13; ++i) names.push_back(absl::StrCat("I", i));
  for (int i = 1; i <= 26; ++i) names.push_back(absl::StrCat("C", i));
  return names;
}

}  // namespace

std::shared_ptr<const RowParser> NewCriteoParser(std::shared_ptr<const RowEncoder> encoder, RowLabels labels) {
  return std::make_shared<CriteoParser>(std::move(encoder), labels);
}

const std::vector<std::string>& CriteoColumns() {
  static const std::vector<std::string>& names = *new std::vector<std::string>(MakeColumns());
  return names;
}

}  // namespace tessera
