#include "worker/data/label_parser.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/job/utf8.h"
#include "worker/data/numeric.h"

namespace tessera {
namespace {

constexpr float kNoLabel = std::numeric_limits<float>::quiet_NaN();

std::string Quoted(const google::protobuf::RepeatedPtrField<std::string>& texts) {
  return absl::StrJoin(texts, ", ", [](std::string* out, const std::string& text) { absl::StrAppend(out, "\"", text, "\""); });
}

}  // namespace

LabelParser::LabelParser(const Data& data) : minus_one_(data.format() == libsvm) {
  if (data.labels_size() == 0) return;
  const Label& label = data.labels(0);
  for (const std::string& text : label.positive()) spellings_.emplace_back(text, 1.0f);
  for (const std::string& text : label.negative()) spellings_.emplace_back(text, 0.0f);
  positive_ = Quoted(label.positive());
  negative_ = Quoted(label.negative());
}

float LabelParser::Parse(std::string_view text) const {
  if (spellings_.empty()) return ParseNumeric(text);
  for (const auto& [spelling, label] : spellings_) {
    if (spelling == text) return label;
  }
  return kNoLabel;
}

float LabelParser::ParseNumeric(std::string_view text) const {
  if (text.size() == 1 && (text[0] == '0' || text[0] == '1')) return static_cast<float>(text[0] - '0');
  float value;
  if (!ParseNumber(text, &value)) return kNoLabel;
  if (value == 1) return 1;
  return value == 0 || (value == -1 && minus_one_) ? 0 : kNoLabel;
}

std::string LabelParser::Unknown(std::string_view text) const {
  const std::string what = text.empty() ? "the label is empty, which" : absl::StrCat("label \"", Excerpt(text), "\"");
  const std::string hint = "; write the spellings to data.labels[0].positive and .negative";
  if (spellings_.empty()) return absl::StrCat(what, " is neither 1 nor 0", minus_one_ ? " (or -1)" : "", hint);
  return absl::StrCat(what, " is neither positive (", positive_.empty() ? "none given" : positive_, ") nor negative (",
                      negative_.empty() ? "none given" : negative_, ")", hint);
}

}  // namespace tessera
