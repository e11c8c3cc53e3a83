#include "worker/data/separator_hint.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace tessera {
namespace {

struct Candidate {
  char separator;
  const char* name;
};
constexpr Candidate kCandidates[] = {{'\t', "tab"}, {',', "comma"}, {';', "semicolon"}, {'|', "pipe"}, {'\x01', "^A"}, {' ', "blank"}};

size_t FieldsAt(std::string_view line, char separator) { return 1 + static_cast<size_t>(std::count(line.begin(), line.end(), separator)); }

}  // namespace

std::string SeparatorName(char separator) { return separator == '\t' ? "TAB" : absl::StrCat("'", std::string(1, separator), "'"); }

std::string SeparatorHint(std::string_view line, char separator, size_t found, size_t wanted) {
  const Candidate* best = nullptr;
  size_t best_fields = found > 1 ? found : 1;
  for (const Candidate& candidate : kCandidates) {
    if (candidate.separator == separator) continue;
    const size_t fields = FieldsAt(line, candidate.separator);
    if (fields > 1 && fields == wanted) return absl::StrCat("; is the file ", candidate.name, " separated?");
    // Blanks stand in most texts: they are no sign of a separator.
    if (found == 1 && candidate.separator != ' ' && fields > best_fields) {
      best = &candidate;
      best_fields = fields;
    }
  }
  return best == nullptr ? "" : absl::StrCat("; is the file ", best->name, " separated?");
}

std::string FieldCountError(std::string_view line, char separator, size_t found, size_t wanted) {
  return absl::StrCat(found, found == 1 ? " field" : " fields", ", expected ", wanted, " (separator ", SeparatorName(separator), ")",
                      SeparatorHint(line, separator, found, wanted));
}

std::string LikeFirstRow(size_t found, size_t wanted, bool without_label) {
  if (found != (without_label ? wanted + 1 : wanted - 1)) return "";
  return absl::StrCat("; the file's first row has ", wanted, ", ", without_label ? "without" : "with", " the label, and every row must have as many");
}

std::string CriteoFieldCountError(std::string_view line, size_t found, size_t wanted) {
  std::string error = FieldCountError(line, '\t', found, wanted);
  if (found + 1 == wanted) error += "; is the label, the first column, missing?";
  return error;
}

}  // namespace tessera
