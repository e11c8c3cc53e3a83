#include "common/job/schema_hint.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/job/job_values.h"
#include "common/job/spelling.h"
#include "proto/job.pb.h"

namespace tessera {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

// More places than this are no help.
constexpr size_t kPlacesMax = 3;

std::string Join(const std::string& path, const std::string& name) { return path.empty() ? name : absl::StrCat(path, ".", name); }

// Full keys below `type` whose last word is `word`.
void FindKeys(const std::string& word, const Descriptor* type, const std::string& path, std::vector<std::string>* found) {
  for (int i = 0; i < type->field_count(); ++i) {
    const FieldDescriptor* field = type->field(i);
    const std::string key = Join(path, field->name());
    if (field->name() == word) found->push_back(key);
    if (!IsValue(field)) FindKeys(word, field->message_type(), key + (field->is_repeated() ? "[]" : ""), found);
  }
}

}  // namespace

std::vector<std::string> EnumNames(const google::protobuf::EnumDescriptor* type) {
  std::vector<std::string> names;
  for (int i = 0; i < type->value_count(); ++i) {
    if (type->value(i)->number() != 0) names.push_back(type->value(i)->name());
  }
  return names;
}

std::vector<std::string> FieldNames(const Descriptor* type) {
  std::vector<std::string> names;
  for (int i = 0; i < type->field_count(); ++i) names.push_back(type->field(i)->name());
  return names;
}

KeyHint HintForKey(const std::string& word, const Descriptor* type, const std::string& path) {
  const std::vector<std::string> here = FieldNames(type);
  const std::string nearest = NearestWord(word, here);
  // The right word at the wrong place: below here first, then anywhere.
  std::vector<std::string> elsewhere;
  FindKeys(word, type, path, &elsewhere);
  if (elsewhere.empty()) FindKeys(word, Job::descriptor(), "", &elsewhere);
  if (!elsewhere.empty() && elsewhere.size() <= kPlacesMax) {
    return {absl::StrCat("no such key here; did you mean ", JoinAlternatives(elsewhere), "?"), elsewhere.size() == 1 ? elsewhere[0] : ""};
  }
  if (elsewhere.size() > kPlacesMax && elsewhere[0].size() > path.size() && elsewhere[0].compare(0, path.size(), path) == 0) {
    const size_t more = elsewhere.size() - kPlacesMax + 1;
    elsewhere.resize(kPlacesMax - 1);
    return {absl::StrCat("no such key here; did you mean ", absl::StrJoin(elsewhere, ", "), " or one of ", more, " more?"), ""};
  }
  if (!nearest.empty()) return {absl::StrCat("no such key; did you mean ", nearest, "?"), Join(path, nearest)};
  return {absl::StrCat("no such key; keys here: ", absl::StrJoin(here, ", ")), ""};
}

std::string HintForWord(const std::string& word, const std::vector<std::string>& known) {
  if (known.size() == 1) return absl::StrCat("\"", word, "\" is not known; write ", known[0]);
  const std::string nearest = NearestWord(word, known);
  return absl::StrCat("\"", word, "\" is none of ", JoinAlternatives(known),
                      nearest.empty() ? "; write one of them" : "; did you mean " + nearest + "?");
}

}  // namespace tessera
