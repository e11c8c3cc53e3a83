#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/job/job_file.h"
#include "common/job/job_values.h"

namespace tessera {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Comments stand in one column, but a long line does not push all of them to the right.
constexpr size_t kCommentColumnMax = 64;

struct Line {
  std::string text;
  std::string key;  // of the value on it, "" where it has none
};

void Print(const Message& message, const std::string& path, const std::string& indent, std::vector<Line>* lines) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  std::string lead = indent;
  for (const FieldDescriptor* field : fields) {
    const std::string key = path.empty() ? field->name() : absl::StrCat(path, ".", field->name());
    const std::string heading = absl::StrCat(lead, field->name(), ":");
    if (IsValue(field)) {
      lines->push_back({absl::StrCat(heading, " ", ValueText(message, field)), key});
    } else if (field->is_repeated()) {
      lines->push_back({heading, ""});
      for (int i = 0; i < message.GetReflection()->FieldSize(message, field); ++i) {
        const size_t first = lines->size();
        const std::string entry = absl::StrCat(key, "[", i, "]");
        Print(message.GetReflection()->GetRepeatedMessage(message, field, i), entry, lead + "    ", lines);
        if (lines->size() == first) lines->push_back({lead + "    {}", entry});
        (*lines)[first].text[lead.size() + 2] = '-';
      }
    } else {
      const Message& below = message.GetReflection()->GetMessage(message, field);
      const size_t first = lines->size();
      lines->push_back({heading, ""});
      Print(below, key, lead + "  ", lines);
      if (lines->size() == first + 1) lines->back() = {heading + " {}", key};
    }
  }
}

}  // namespace

std::string FormatJob(const Job& job, const std::vector<Origin>& origins) {
  absl::flat_hash_map<std::string, std::string> sources;
  for (const Origin& origin : origins) {
    sources[origin.key()] = origin.reason().empty() ? origin.source() : absl::StrCat(origin.source(), ": ", origin.reason());
  }
  std::vector<Line> lines;
  Print(job, "", "", &lines);
  size_t column = 0;
  for (const Line& line : lines) {
    if (line.text.size() < kCommentColumnMax) column = std::max(column, line.text.size());
  }
  std::string text;
  for (const Line& line : lines) {
    absl::StrAppend(&text, line.text);
    if (const auto source = sources.find(line.key); source != sources.end()) {
      absl::StrAppend(&text, std::string(column - std::min(column, line.text.size()) + 2, ' '), "# ", source->second);
    }
    absl::StrAppend(&text, "\n");
  }
  return text;
}

}  // namespace tessera
