#include "common/job/job_values.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/job/units.h"

namespace tessera {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

bool IsUnit(const Descriptor* type) {
  return type == Duration::descriptor() || type == ByteSize::descriptor() || type == Cadence::descriptor();
}

std::string UnitText(const Message& unit) {
  if (const auto* duration = dynamic_cast<const Duration*>(&unit)) return FormatDurationMs(duration->ms());
  if (const auto* size = dynamic_cast<const ByteSize*>(&unit)) return FormatByteSize(size->bytes());
  return FormatCadence(dynamic_cast<const Cadence&>(unit));
}

std::string ElementText(const Message& message, const FieldDescriptor* field, int i) {
  const Reflection& r = *message.GetReflection();
  const bool list = field->is_repeated();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT32: return absl::StrCat(list ? r.GetRepeatedUInt32(message, field, i) : r.GetUInt32(message, field));
    case FieldDescriptor::CPPTYPE_UINT64: return absl::StrCat(list ? r.GetRepeatedUInt64(message, field, i) : r.GetUInt64(message, field));
    case FieldDescriptor::CPPTYPE_DOUBLE: return FormatNumber(list ? r.GetRepeatedDouble(message, field, i) : r.GetDouble(message, field));
    case FieldDescriptor::CPPTYPE_BOOL: return (list ? r.GetRepeatedBool(message, field, i) : r.GetBool(message, field)) ? "true" : "false";
    case FieldDescriptor::CPPTYPE_ENUM: return (list ? r.GetRepeatedEnum(message, field, i) : r.GetEnum(message, field))->name();
    case FieldDescriptor::CPPTYPE_STRING: return QuoteText(list ? r.GetRepeatedString(message, field, i) : r.GetString(message, field));
    case FieldDescriptor::CPPTYPE_MESSAGE: return UnitText(r.GetMessage(message, field));
    default: return "";  // the schema has no other types; value_reader.cc asserts it
  }
}

void Collect(const Message& message, const std::string& path, std::vector<JobValue>* values) {
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  if (fields.empty() && !path.empty()) values->push_back({path, "{}"});
  for (const FieldDescriptor* field : fields) {
    const std::string key = path.empty() ? field->name() : absl::StrCat(path, ".", field->name());
    if (IsValue(field)) {
      values->push_back({key, ValueText(message, field)});
    } else if (!field->is_repeated()) {
      Collect(reflection.GetMessage(message, field), key, values);
    } else {
      for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
        Collect(reflection.GetRepeatedMessage(message, field, i), absl::StrCat(key, "[", i, "]"), values);
      }
    }
  }
}

}  // namespace

bool IsValue(const FieldDescriptor* field) {
  return field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE || IsUnit(field->message_type());
}

bool IsChoice(const Descriptor* type) {
  return type->real_oneof_decl_count() == 1 && type->oneof_decl(0)->field_count() == type->field_count();
}

std::string ValueText(const Message& message, const FieldDescriptor* field) {
  if (!field->is_repeated()) return ElementText(message, field, 0);
  std::vector<std::string> elements;
  for (int i = 0; i < message.GetReflection()->FieldSize(message, field); ++i) elements.push_back(ElementText(message, field, i));
  return absl::StrCat("[", absl::StrJoin(elements, ", "), "]");
}

std::string QuoteText(const std::string& text) {
  bool plain = !text.empty() && (absl::ascii_isalnum(text[0]) || absl::StrContains("_/.", text.substr(0, 1)));
  for (char c : text) plain = plain && (absl::ascii_isalnum(c) || absl::StrContains("_/.+-*", std::string(1, c)));
  for (const char* word : {"auto", "null", "Null", "NULL", "true", "false"}) plain = plain && text != word;
  if (plain) return text;
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') absl::StrAppend(&quoted, "\\", std::string(1, c));
    else if (c == '\t') absl::StrAppend(&quoted, "\\t");
    else if (c == '\n') absl::StrAppend(&quoted, "\\n");
    else if (absl::ascii_iscntrl(c)) absl::StrAppendFormat(&quoted, "\\x%02x", static_cast<unsigned char>(c));
    else quoted.push_back(c);
  }
  return quoted + "\"";
}

std::vector<JobValue> JobValues(const Job& job) {
  std::vector<JobValue> values;
  Collect(job, "", &values);
  return values;
}

}  // namespace tessera
