#include "common/job/value_reader.h"

#include <cassert>
#include <cmath>
#include <limits>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/job/schema_hint.h"
#include "common/job/units.h"
#include "proto/job.pb.h"

namespace tessera {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

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
  if (!absl::SimpleAtod(text, &number))
    return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" is no number; write one such as 0.01 or 1e-3"));
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

}  // namespace

absl::Status SetValueFromText(const std::string& text, const FieldDescriptor* field, Message* message) {
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT32: {
      uint32_t number = 0;
      const absl::Status status = ParseWhole(text, &number);
      return Put<uint32_t>(status.ok() ? absl::StatusOr<uint32_t>(number) : status, message, field, &Reflection::SetUInt32,
                           &Reflection::AddUInt32);
    }
    case FieldDescriptor::CPPTYPE_UINT64: {
      uint64_t number = 0;
      const absl::Status status = ParseWhole(text, &number);
      return Put<uint64_t>(status.ok() ? absl::StatusOr<uint64_t>(number) : status, message, field, &Reflection::SetUInt64,
                           &Reflection::AddUInt64);
    }
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return Put<double>(ParseNumber(text), message, field, &Reflection::SetDouble, &Reflection::AddDouble);
    case FieldDescriptor::CPPTYPE_BOOL: return Put<bool>(ParseBool(text), message, field, &Reflection::SetBool, &Reflection::AddBool);
    case FieldDescriptor::CPPTYPE_ENUM:
      return Put<int>(ParseEnum(text, field->enum_type()), message, field, &Reflection::SetEnumValue, &Reflection::AddEnumValue);
    case FieldDescriptor::CPPTYPE_STRING: return Put<std::string>(text, message, field, &Reflection::SetString, &Reflection::AddString);
    case FieldDescriptor::CPPTYPE_MESSAGE: return ParseUnit(text, message->GetReflection()->MutableMessage(message, field));
    default: assert(false && "job.proto has a type the reader does not know"); return absl::InternalError("unknown type of field");
  }
}

std::string WantedText(const FieldDescriptor* field) {
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

}  // namespace tessera
