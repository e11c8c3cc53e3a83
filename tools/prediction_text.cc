#include "tools/prediction_text.h"

#include "absl/strings/str_format.h"

namespace tessera {
namespace {

void AppendCell(const std::string& cell, std::string* out) {
  if (cell.find_first_of(",\"\r\n") == std::string::npos) {
    out->append(cell);
    return;
  }
  out->push_back('"');
  for (char c : cell) out->append(c == '"' ? 2 : 1, c);
  out->push_back('"');
}

}  // namespace

void AppendPrediction(absl::Span<const std::string> kept, float probability, std::string* out) {
  for (const std::string& cell : kept) {
    AppendCell(cell, out);
    out->push_back(',');
  }
  absl::StrAppendFormat(out, "%.9g\n", probability);
}

}  // namespace tessera
