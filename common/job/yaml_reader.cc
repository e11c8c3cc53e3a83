#include "common/job/yaml_reader.h"

#include <yaml-cpp/anchor.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <functional>
#include <sstream>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/job/job_values.h"
#include "common/job/schema_hint.h"
#include "common/job/value_reader.h"

namespace tessera {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// yaml-cpp's tag of a scalar written in quotes.
constexpr char kQuotedTag[] = "!";

bool IsAuto(const YAML::Node& node) { return node.IsScalar() && node.Tag() != kQuotedTag && node.Scalar() == "auto"; }

std::string Shown(const YAML::Node& node) {
  if (node.IsMap()) return "a map";
  if (node.IsSequence()) return "a list";
  if (node.IsNull()) return "nothing";
  const std::string text = node.Scalar();
  return text.size() <= 40 ? absl::StrCat("\"", text, "\"") : absl::StrCat("\"", text.substr(0, 37), "...\"");
}

// Reads nodes into messages; one for a file or an assignment.
class Reader {
 public:
  // `line_of_set`: kSetLine where every value comes from the command line, else 0.
  Reader(JobDraft* draft, int line_of_set) : draft_(*draft), set_line_(line_of_set) {}

  void ReadMessage(const YAML::Node& map, const std::string& path, Message* message);
  void ReadField(const YAML::Node& value, int line, const std::string& path, const FieldDescriptor* field, Message* message);
  int LineOf(const YAML::Node& node) const { return set_line_ != 0 ? set_line_ : node.Mark().line + 1; }

 private:
  void ReadList(const YAML::Node& value, int line, const std::string& path, const FieldDescriptor* field, Message* message);
  void ReadMessages(const YAML::Node& value, const std::string& path, const FieldDescriptor* field, Message* message);
  void ReadChoice(const YAML::Node& value, int line, const std::string& path, Message* message);
  // One scalar, or one element of a list. Returns false when it was refused.
  bool ReadValue(const YAML::Node& value, int line, const std::string& path, const FieldDescriptor* field, Message* message);

  JobDraft& draft_;
  const int set_line_;
};

void Reader::ReadMessage(const YAML::Node& map, const std::string& path, Message* message) {
  if (IsChoice(message->GetDescriptor()) && map.size() > 1) {
    return draft_.Refuse(path, absl::StrCat("is a choice and has ", map.size(), " keys; keep one of ",
                                            absl::StrJoin(FieldNames(message->GetDescriptor()), ", ")));
  }
  absl::flat_hash_map<std::string, int> seen;
  for (const auto& entry : map) {
    const int line = LineOf(entry.first);
    if (!entry.first.IsScalar()) {
      draft_.RefuseAt(line, path, absl::StrCat("a key must be a word, not ", Shown(entry.first)));
      continue;
    }
    const std::string name = entry.first.Scalar();
    const std::string key = path.empty() ? name : absl::StrCat(path, ".", name);
    if (const auto [it, fresh] = seen.emplace(name, line); !fresh) {
      draft_.RefuseAt(line, key, absl::StrCat("is given twice, first in line ", it->second, "; keep one"));
      continue;
    }
    const FieldDescriptor* const field = message->GetDescriptor()->FindFieldByName(name);
    if (field == nullptr) {
      const KeyHint hint = HintForKey(name, message->GetDescriptor(), path);
      draft_.RefuseAt(line, key, hint.text);
      draft_.Excuse(hint.instead);
      continue;
    }
    ReadField(entry.second, line, key, field, message);
  }
  if (map.size() == 0 && !path.empty()) draft_.Give(path, "{}", LineOf(map));
}

void Reader::ReadField(const YAML::Node& value, int line, const std::string& path, const FieldDescriptor* field, Message* message) {
  if (IsAuto(value)) return;
  draft_.Place(path, line);
  const bool one_message = !IsValue(field) && !field->is_repeated();
  if (value.IsNull()) {
    // A heading whose keys are all commented out says nothing, and that is fine.
    if (!one_message)
      draft_.Refuse(path, absl::StrCat("has no value; write ", IsValue(field) ? WantedText(field) : "a list", " or remove the key"));
    return;
  }
  if (field->is_repeated()) return IsValue(field) ? ReadList(value, line, path, field, message) : ReadMessages(value, path, field, message);
  if (IsValue(field)) {
    if (ReadValue(value, line, path, field, message)) draft_.Give(path, ValueText(*message, field), line);
    return;
  }
  const bool choice = IsChoice(field->message_type());
  if (value.IsScalar() && choice) return ReadChoice(value, line, path, message->GetReflection()->MutableMessage(message, field));
  if (!value.IsMap()) {
    return draft_.Refuse(path,
                         absl::StrCat("wanted keys (", absl::StrJoin(FieldNames(field->message_type()), ", "), "), found ", Shown(value)));
  }
  ReadMessage(value, path, message->GetReflection()->MutableMessage(message, field));
}

void Reader::ReadList(const YAML::Node& value, int line, const std::string& path, const FieldDescriptor* field, Message* message) {
  bool good = true;
  if (!value.IsSequence()) {
    good = ReadValue(value, line, path, field, message);  // one value is a list of one
  } else if (value.size() == 0) {
    return draft_.Refuse(path, "is an empty list; write at least one value or remove the key");
  } else {
    for (size_t i = 0; i < value.size(); ++i) {
      good = ReadValue(value[i], LineOf(value[i]), absl::StrCat(path, "[", i, "]"), field, message) && good;
    }
  }
  if (good) return draft_.Give(path, ValueText(*message, field), line);
  draft_.Excuse(path);
}

void Reader::ReadMessages(const YAML::Node& value, const std::string& path, const FieldDescriptor* field, Message* message) {
  const bool list = value.IsSequence();
  if (list && value.size() == 0) return draft_.Refuse(path, "is an empty list; write at least one entry or remove the key");
  for (size_t i = 0; i < (list ? value.size() : 1); ++i) {
    const YAML::Node entry = list ? value[i] : value;
    const std::string key = absl::StrCat(path, "[", i, "]");
    draft_.Place(key, LineOf(entry));
    Message* const added = message->GetReflection()->AddMessage(message, field);
    if (entry.IsMap()) {
      ReadMessage(entry, key, added);
    } else {
      draft_.Refuse(key, absl::StrCat("wanted keys (", absl::StrJoin(FieldNames(field->message_type()), ", "), "), found ", Shown(entry)));
    }
  }
}

void Reader::ReadChoice(const YAML::Node& value, int line, const std::string& path, Message* message) {
  const std::string& name = value.Scalar();
  const FieldDescriptor* const kind = message->GetDescriptor()->FindFieldByName(name);
  if (kind == nullptr) return draft_.Refuse(path, HintForWord(name, FieldNames(message->GetDescriptor())));
  message->GetReflection()->MutableMessage(message, kind);
  draft_.Give(absl::StrCat(path, ".", name), "{}", line);
}

bool Reader::ReadValue(const YAML::Node& value, int line, const std::string& path, const FieldDescriptor* field, Message* message) {
  if (!value.IsScalar()) {
    const std::string null_hint = value.IsNull() ? " (an unquoted null, or no text at all: put it in quotes)" : "";
    draft_.RefuseAt(line, path, absl::StrCat("wanted ", WantedText(field), ", found ", Shown(value), null_hint));
    return false;
  }
  const absl::Status status = SetValueFromText(value.Scalar(), field, message);
  if (!status.ok()) draft_.RefuseAt(line, path, std::string(status.message()));
  return status.ok();
}

// Notes where a document begins.
class BeginOfDocument : public YAML::EventHandler {
 public:
  YAML::Mark mark = YAML::Mark::null_mark();

  void OnDocumentStart(const YAML::Mark& begin) override { mark = begin; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};

// The one document of a text. YAML::Load would pass over what is left behind it, and YAML::LoadAll never ends on a stray bracket.
YAML::Node LoadOne(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  BeginOfDocument begin;
  if (parser.HandleNextDocument(begin) && parser) {
    parser.HandleNextDocument(begin);
    throw YAML::ParserException(begin.mark, "a second document, or something left over, begins here");
  }
  return YAML::Load(text);
}

absl::Status CatchYaml(const std::function<void()>& read, int* line) {
  try {
    read();
    return absl::OkStatus();
  } catch (const YAML::Exception& error) {
    *line = error.mark.is_null() ? 0 : error.mark.line + 1;
    return absl::InvalidArgumentError(absl::StrCat("not valid YAML: ", error.msg));
  }
}

// The value of an assignment. Separators and the like mean nothing in YAML, or something else: for a text they are taken as they stand.
absl::StatusOr<YAML::Node> LoadAssigned(const std::string& text, const FieldDescriptor* field) {
  YAML::Node value;
  int line = 0;
  const absl::Status status = CatchYaml([&] { value = LoadOne(text); }, &line);
  const bool one_text = field->cpp_type() == FieldDescriptor::CPPTYPE_STRING && !field->is_repeated();
  if (one_text && (!status.ok() || value.IsNull())) return YAML::Node(text);
  if (!status.ok()) return status;
  return value;
}

void AssignField(const std::string& text, const std::string& key, const FieldDescriptor* field, Message* message, JobDraft* draft) {
  const absl::StatusOr<YAML::Node> value = LoadAssigned(text, field);
  if (!value.ok()) return draft->RefuseAt(kSetLine, key, absl::StrCat(value.status().message(), "; put the value in quotes"));
  draft->Forget(key);
  message->GetReflection()->ClearField(message, field);
  int line = 0;
  const absl::Status status = CatchYaml([&] { Reader(draft, kSetLine).ReadField(*value, kSetLine, key, field, message); }, &line);
  if (!status.ok()) draft->RefuseAt(kSetLine, key, std::string(status.message()));
}

}  // namespace

bool ReadYamlText(const std::string& text, JobDraft* draft) {
  int line = 0;
  bool readable = false;
  const absl::Status status = CatchYaml(
      [&] {
        const YAML::Node document = LoadOne(text);
        if (document.IsNull()) return draft->RefuseAt(0, "", "is empty; a job needs at least data: {format, train: {files}}");
        if (!document.IsMap()) {
          return draft->RefuseAt(1, "", absl::StrCat("wanted keys such as \"data:\", found ", Shown(document), "; is this a job file?"));
        }
        readable = true;
        Reader(draft, 0).ReadMessage(document, "", &draft->job);
      },
      &line);
  if (!status.ok())
    draft->RefuseAt(line, "", absl::StrCat(status.message(), "; look for indentation, quotes and brackets here or just above"));
  return readable && status.ok();
}

void ReadYamlAssignment(const std::string& assignment, JobDraft* draft) {
  const std::pair<std::string, std::string> parts = absl::StrSplit(assignment, absl::MaxSplits('=', 1));
  const std::string& key = parts.first;
  if (!absl::StrContains(assignment, '=') || key.empty()) {
    return draft->RefuseAt(kSetLine, "",
                           absl::StrCat("\"", assignment, "\" is no assignment; write KEY=VALUE such as training.batch_size=512"));
  }
  Message* message = &draft->job;
  std::string path;
  const std::vector<std::string> names = absl::StrSplit(key, '.');
  for (size_t i = 0; i < names.size(); ++i) {
    const FieldDescriptor* const field = message->GetDescriptor()->FindFieldByName(names[i]);
    if (field == nullptr && absl::StrContains(names[i], '[')) {
      return draft->RefuseAt(kSetLine, key, "entries of a list cannot be set one by one; set the whole list");
    }
    if (field == nullptr) return draft->RefuseAt(kSetLine, key, HintForKey(names[i], message->GetDescriptor(), path).text);
    absl::StrAppend(&path, path.empty() ? "" : ".", names[i]);
    if (i + 1 < names.size()) {
      if (IsValue(field)) return draft->RefuseAt(kSetLine, key, absl::StrCat(path, " is one value; write ", path, "=VALUE"));
      if (field->is_repeated()) return draft->RefuseAt(kSetLine, key, absl::StrCat(path, " is a list; set all of it: '", path, "=[...]'"));
    }
    // Another kind of a choice replaces the one there was.
    const auto* const choice = field->real_containing_oneof();
    if (choice != nullptr && !message->GetReflection()->HasField(*message, field)) draft->Forget(std::string(ParentKey(path)));
    if (i + 1 == names.size()) return AssignField(parts.second, key, field, message, draft);
    message = message->GetReflection()->MutableMessage(message, field);
  }
}

}  // namespace tessera
