// Criteo's layout: label, 13 integers, 26 categoricals, separated by tabs, no header; an empty cell is a missing value. For prediction
// the label may be absent.
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
  explicit CriteoParser(std::shared_ptr<const RowEncoder> encoder) : encoder_(std::move(encoder)) {}

  void Prepare(Rows* rows) const override { encoder_->Prepare(rows); }

  bool Parse(std::string_view line, RowScratch* scratch, Rows* rows, std::string* error) const override {
    const size_t wanted = encoder_->columns();
    scratch->cells.resize(wanted);
    const size_t found = SplitCells(line, '\t', wanted, scratch->cells.data());
    if (found != wanted) {
      if (found + 1 != wanted || encoder_->labels_wanted()) {
        *error = CriteoFieldCountError(line, found, wanted);
        return false;
      }
      std::move_backward(scratch->cells.begin(), scratch->cells.end() - 1, scratch->cells.end());
      scratch->cells[0] = std::string_view();
    }
    return encoder_->Encode(scratch->cells.data(), rows, error);
  }

 private:
  const std::shared_ptr<const RowEncoder> encoder_;
};

std::vector<std::string> MakeColumns() {
  std::vector<std::string> names = {"label"};
  for (int i = 1; i <= 13; ++i) names.push_back(absl::StrCat("I", i));
  for (int i = 1; i <= 26; ++i) names.push_back(absl::StrCat("C", i));
  return names;
}

}  // namespace

std::shared_ptr<const RowParser> NewCriteoParser(std::shared_ptr<const RowEncoder> encoder) {
  return std::make_shared<CriteoParser>(std::move(encoder));
}

const std::vector<std::string>& CriteoColumns() {
  static const std::vector<std::string>& names = *new std::vector<std::string>(MakeColumns());
  return names;
}

}  // namespace tessera
