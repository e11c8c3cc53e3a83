#include "tools/json.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/job/utf8.h"

namespace tessera {
namespace {

using google::protobuf::FieldDescriptor;

template <class T>
std::string ShortestReal(T value) {
  if (!std::isfinite(value)) return "null";
  char text[64];
  const auto result = std::to_chars(text, text + sizeof text, value);
  return std::string(text, result.ptr);
}

// Text that is not UTF-8 (a path or a cell of a foreign file) keeps its ASCII; each other byte becomes the replacement character.
std::string Quoted(absl::string_view value) {
  std::string out = "\"";
  const bool utf8 = FindBadUtf8(std::string_view(value.data(), value.size())) == std::string::npos;
  for (const char c : value) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\r':
        out += "\\r";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          absl::StrAppendFormat(&out, "\\u%04x", c);
        } else if (static_cast<unsigned char>(c) >= 0x80 && !utf8) {
          out += "\\ufffd";
        } else {
          out += c;
        }
    }
  }
  return out + "\"";
}

}  // namespace

void JsonWriter::Separate() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (empty_.empty()) return;
  absl::StrAppend(&text_, empty_.back() ? "\n" : ",\n", std::string(2 * empty_.size(), ' '));
  empty_.back() = false;
}

JsonWriter& JsonWriter::Raw(absl::string_view text) {
  Separate();
  absl::StrAppend(&text_, text);
  return *this;
}

JsonWriter& JsonWriter::Begin(char bracket) {
  Separate();
  text_ += bracket;
  empty_.push_back(true);
  return *this;
}

JsonWriter& JsonWriter::End(char bracket) {
  assert(!empty_.empty() && !after_key_);
  const bool empty = empty_.back();
  empty_.pop_back();
  if (!empty) absl::StrAppend(&text_, "\n", std::string(2 * empty_.size(), ' '));
  text_ += bracket;
  return *this;
}

JsonWriter& JsonWriter::Key(absl::string_view name) {
  assert(!empty_.empty() && !after_key_);
  Separate();
  absl::StrAppend(&text_, Quoted(name), ": ");
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::String(absl::string_view value) { return Raw(Quoted(value)); }
JsonWriter& JsonWriter::Number(uint64_t value) { return Raw(absl::StrCat(value)); }
JsonWriter& JsonWriter::SignedNumber(int64_t value) { return Raw(absl::StrCat(value)); }
JsonWriter& JsonWriter::Real(double value) { return Raw(ShortestReal(value)); }
JsonWriter& JsonWriter::Real(float value) { return Raw(ShortestReal(value)); }

JsonWriter& JsonWriter::Message(const google::protobuf::Message& message) {
  BeginObject();
  Fields(message);
  return EndObject();
}

JsonWriter& JsonWriter::Fields(const google::protobuf::Message& message, const std::vector<std::string>& skip) {
  const google::protobuf::Descriptor& type = *message.GetDescriptor();
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (std::find(skip.begin(), skip.end(), field.name()) != skip.end()) continue;
    const bool absent = field.has_presence() && !reflection.HasField(message, &field);
    if (absent && field.real_containing_oneof() != nullptr) continue;
    Key(field.name());
    if (absent) {
      Null();
    } else if (field.is_repeated()) {
      BeginArray();
      for (int k = 0; k < reflection.FieldSize(message, &field); ++k) Field(message, field, k);
      EndArray();
    } else {
      Field(message, field, -1);
    }
  }
  return *this;
}

// Element `index` of a repeated field, or the value of a single one (index -1).
void JsonWriter::Field(const google::protobuf::Message& message, const FieldDescriptor& field, int index) {
  const google::protobuf::Reflection& r = *message.GetReflection();
  const bool one = index < 0;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      SignedNumber(one ? r.GetInt32(message, &field) : r.GetRepeatedInt32(message, &field, index));
      break;
    case FieldDescriptor::CPPTYPE_INT64:
      SignedNumber(one ? r.GetInt64(message, &field) : r.GetRepeatedInt64(message, &field, index));
      break;
    case FieldDescriptor::CPPTYPE_UINT32:
      Number(one ? r.GetUInt32(message, &field) : r.GetRepeatedUInt32(message, &field, index));
      break;
    case FieldDescriptor::CPPTYPE_UINT64:
      Number(one ? r.GetUInt64(message, &field) : r.GetRepeatedUInt64(message, &field, index));
      break;
    case FieldDescriptor::CPPTYPE_DOUBLE:
      Real(one ? r.GetDouble(message, &field) : r.GetRepeatedDouble(message, &field, index));
      break;
    case FieldDescriptor::CPPTYPE_FLOAT:
      Real(one ? r.GetFloat(message, &field) : r.GetRepeatedFloat(message, &field, index));
      break;
    case FieldDescriptor::CPPTYPE_BOOL:
      Bool(one ? r.GetBool(message, &field) : r.GetRepeatedBool(message, &field, index));
      break;
    case FieldDescriptor::CPPTYPE_ENUM:
      String((one ? r.GetEnum(message, &field) : r.GetRepeatedEnum(message, &field, index))->name());
      break;
    case FieldDescriptor::CPPTYPE_STRING:
      String(one ? r.GetString(message, &field) : r.GetRepeatedString(message, &field, index));
      break;
    case FieldDescriptor::CPPTYPE_MESSAGE:
      Message(one ? r.GetMessage(message, &field) : r.GetRepeatedMessage(message, &field, index));
      break;
  }
}

std::string JsonWriter::Finish() const {
  assert(empty_.empty() && !after_key_);
  return text_ + "\n";
}

}  // namespace tessera
