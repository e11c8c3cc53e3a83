#include "common/job/yaml_reader.h"

#include <yaml-cpp/yaml.h>

#include <cassert>
#include <cmath>
#include <functional>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/job/job_values.h"
#include "common/job/schema_hint.h"
#include "common/job/units.h"

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

std::string Wanted(const FieldDescriptor* field) {
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT32:
    case FieldDescriptor::CPPTYPE_UINT64: return "a whole number";
    case FieldDescriptor::CPPTYPE_DOUBLE: return "a number";
    case FieldDescriptor::CPPTYPE_BOOL: return "true or false";
    case FieldDescriptor::CPPTYPE_ENUM: return absl::StrCat("one of ", absl::StrJoin(EnumNames(field->enum_type()), ", "));
    case FieldDescriptor::CPPTYPE_STRING: return "a text";
    default: break;
  }
  if (field->message_type() == Duration::descriptor()) return "a duration such as 10m";
  if (field->message_type() == ByteSize::descriptor()) return "a size such as 4GiB";
  return "a cadence such as \"500 steps\", 10m or \"1 epoch\"";
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
  absl::Status SetValue(const std::string& text, const FieldDescriptor* field, Message* message);

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
    if (!one_message) draft_.Refuse(path, absl::StrCat("has no value; write ", IsValue(field) ? Wanted(field) : "a list", " or remove the key"));
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
    return draft_.Refuse(path, absl::StrCat("wanted keys (", absl::StrJoin(FieldNames(field->message_type()), ", "), "), found ", Shown(value)));
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
    draft_.RefuseAt(line, path, absl::StrCat("wanted ", Wanted(field), ", found ", Shown(value), null_hint));
    return false;
  }
  const absl::Status status = SetValue(value.Scalar(), field, message);
  if (!status.ok()) draft_.RefuseAt(line, path, std::string(status.message()));
  return status.ok();
}

template <class T>
absl::Status ParseWhole(const std::string& text, T* number) {
  if (absl::SimpleAtoi(text, number)) return absl::OkStatus();
  const bool minus = absl::StartsWith(text, "-");
  const std::string digits = text.substr(minus ? 1 : 0);
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string::npos) {
    return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" is no whole number; write digits only"));
  }
  if (minus) return absl::InvalidArgumentError(absl::StrCat(text, " is negative; write a number from 0 on"));
  return absl::InvalidArgumentError(absl::StrCat(text, " is too large; the largest is ", std::numeric_limits<T>::max()));
}

// Sets the field, or adds to it where it is a list.
template <class T>
absl::Status Put(absl::StatusOr<T> value, Message* message, const FieldDescriptor* field,
                 void (Reflection::*set)(Message*, const FieldDescriptor*, T) const,
                 void (Reflection::*add)(Message*, const FieldDescriptor*, T) const) {
  if (!value.ok()) return value.status();
  (message->GetReflection()->*(field->is_repeated() ? add : set))(message, field, *std::move(value));
  return absl::OkStatus();
}

absl::StatusOr<double> ParseNumber(const std::string& text) {
  double number = 0;
  if (!absl::SimpleAtod(text, &number)) return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" is no number; write one such as 0.01 or 1e-3"));
  if (!std::isfinite(number)) return absl::InvalidArgumentError(absl::StrCat(text, " is not finite; write a number such as 0.01 or 1e-3"));
  return number;
}

absl::StatusOr<bool> ParseBool(const std::string& text) {
  if (text == "true" || text == "false") return text == "true";
  return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" is neither true nor false; write one of them"));
}

absl::StatusOr<int> ParseEnum(const std::string& text, const google::protobuf::EnumDescriptor* type) {
  const auto* const value = type->FindValueByName(text);
  if (value != nullptr && value->number() != 0) return value->number();
  return absl::InvalidArgumentError(HintForWord(text, EnumNames(type)));
}

absl::Status ParseUnit(const std::string& text, Message* message) {
  if (auto* duration = dynamic_cast<Duration*>(message)) {
    const auto ms = ParseDurationMs(text);
    if (ms.ok()) duration->set_ms(*ms);
    return ms.status();
  }
  if (auto* size = dynamic_cast<ByteSize*>(message)) {
    const auto bytes = ParseByteSize(text);
    if (bytes.ok()) size->set_bytes(*bytes);
    return bytes.status();
  }
  const auto cadence = ParseCadence(text);
  if (cadence.ok()) dynamic_cast<Cadence&>(*message) = *cadence;
  return cadence.status();
}

absl::Status Reader::SetValue(const std::string& text, const FieldDescriptor* field, Message* message) {
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT32: {
      uint32_t number = 0;
      const absl::Status status = ParseWhole(text, &number);
      return Put<uint32_t>(status.ok() ? absl::StatusOr<uint32_t>(number) : status, message, field, &Reflection::SetUInt32, &Reflection::AddUInt32);
    }
    case FieldDescriptor::CPPTYPE_UINT64: {
      uint64_t number = 0;
      const absl::Status status = ParseWhole(text, &number);
      return Put<uint64_t>(status.ok() ? absl::StatusOr<uint64_t>(number) : status, message, field, &Reflection::SetUInt64, &Reflection::AddUInt64);
    }
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return Put<double>(ParseNumber(text), message, field, &Reflection::SetDouble, &Reflection::AddDouble);
    case FieldDescriptor::CPPTYPE_BOOL:
      return Put<bool>(ParseBool(text), message, field, &Reflection::SetBool, &Reflection::AddBool);
    case FieldDescriptor::CPPTYPE_ENUM:
      return Put<int>(ParseEnum(text, field->enum_type()), message, field, &Reflection::SetEnumValue, &Reflection::AddEnumValue);
    case FieldDescriptor::CPPTYPE_STRING:
      return Put<std::string>(text, message, field, &Reflection::SetString, &Reflection::AddString);
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return ParseUnit(text, message->GetReflection()->MutableMessage(message, field));
    default:
      assert(false && "job.proto has a type the reader does not know");
      return absl::InternalError("unknown type of field");
  }
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

}  // namespace

bool ReadYamlText(const std::string& text, JobDraft* draft) {
  int line = 0;
  bool readable = false;
  const absl::Status status = CatchYaml(
      [&] {
        const std::vector<YAML::Node> documents = YAML::LoadAll(text);
        if (documents.empty() || documents[0].IsNull()) return draft->RefuseAt(0, "", "is empty; a job needs at least data: {format, train: {files}}");
        if (documents.size() > 1) return draft->RefuseAt(documents[1].Mark().line + 1, "", "a second document begins; a file describes one job");
        if (!documents[0].IsMap()) {
          return draft->RefuseAt(1, "", absl::StrCat("wanted keys such as \"data:\", found ", Shown(documents[0]), "; is this a job file?"));
        }
        readable = true;
        Reader(draft, 0).ReadMessage(documents[0], "", &draft->job);
      },
      &line);
  if (!status.ok()) draft->RefuseAt(line, "", absl::StrCat(status.message(), "; look for indentation, quotes and brackets here or just above"));
  return readable && status.ok();
}

void ReadYamlAssignment(const std::string& assignment, JobDraft* draft) {
  const std::pair<std::string, std::string> parts = absl::StrSplit(assignment, absl::MaxSplits('=', 1));
  const std::string& key = parts.first;
  if (!absl::StrContains(assignment, '=') || key.empty()) {
    return draft->RefuseAt(kSetLine, "", absl::StrCat("\"", assignment, "\" is no assignment; write KEY=VALUE such as training.batch_size=512"));
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
    if (i + 1 < names.size()) {
      message = message->GetReflection()->MutableMessage(message, field);
      continue;
    }
    int line = 0;
    const absl::Status status = CatchYaml(
        [&] {
          YAML::Node value = YAML::Load(parts.second);
          // Separators and the like mean nothing in YAML; for a text they are meant as they stand.
          const bool text = field->cpp_type() == FieldDescriptor::CPPTYPE_STRING && !field->is_repeated();
          if (value.IsNull() && text) value = YAML::Node(parts.second);
          draft->Forget(key);
          message->GetReflection()->ClearField(message, field);
          Reader(draft, kSetLine).ReadField(value, kSetLine, key, field, message);
        },
        &line);
    if (!status.ok()) draft->RefuseAt(kSetLine, key, absl::StrCat(status.message(), "; put the value in quotes"));
  }
}

}  // namespace tessera
