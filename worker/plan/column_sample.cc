#include "worker/plan/column_sample.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/job/utf8.h"
#include "worker/data/numeric.h"

namespace tessera {
namespace {

// Numbers that only name things are better hashed than measured.
bool IsNamedAsId(const std::string& name) {
  const std::string lower = absl::AsciiStrToLower(name);
  for (const char* word : {"id", "hash", "key", "code", "zip", "zipcode", "userid", "itemid", "adid", "productid", "sessionid", "customerid"}) {
    if (lower == word || absl::EndsWith(lower, absl::StrCat("_", word)) || absl::EndsWith(lower, absl::StrCat("-", word))) return true;
  }
  return absl::EndsWith(name, "Id") || absl::EndsWith(name, "ID");
}

bool HasLeadingZeros(std::string_view text) { return text.size() > 1 && text[0] == '0' && absl::ascii_isdigit(text[1]); }

}  // namespace

bool ColumnSample::Add(const SurveyCell& cell) {
  if (use_ == Use::kNothing) return true;
  ++rows_;
  if (cell.missing) {
    ++missing_;
    return true;
  }
  if (!text_.empty()) return true;
  float value = 0;
  if (!ParseNumber(cell.text, &value)) {
    text_ = cell.text.empty() ? " " : Excerpt(cell.text);
    values_ = {};
    return use_ == Use::kGuess;
  }
  if (padded_.empty() && HasLeadingZeros(cell.text)) padded_ = Excerpt(cell.text);
  if (distinct_.size() <= kDistinctForNumeric && std::find(distinct_.begin(), distinct_.end(), value) == distinct_.end()) {
    distinct_.push_back(value);
  }
  values_.push_back(value);
  return true;
}

ColumnGuess ColumnSample::Guess() const {
  const std::string first_rows = absl::StrCat("the first ", rows_, " rows");
  if (rows_ == missing_) return {categorical, absl::StrCat("no value in ", first_rows)};
  if (!text_.empty()) return {categorical, absl::StrCat("not all values are numbers, for example \"", text_, "\"")};
  if (IsNamedAsId(name_)) return {categorical, "numbers, but the name says that they are ids"};
  if (!padded_.empty()) return {categorical, absl::StrCat("numbers with leading zeros, for example ", padded_)};
  if (distinct_.size() <= kDistinctForNumeric) {
    return {categorical, absl::StrCat("only ", distinct_.size(), " different number", distinct_.size() == 1 ? "" : "s", " in ", first_rows)};
  }
  return {numeric, absl::StrCat("every value is a number, more than ", kDistinctForNumeric, " different ones in ", first_rows)};
}

NumericStatistics ColumnSample::Statistics() const { return BuildStatistics(values_); }

}  // namespace tessera
