// JSON as the commands print it: for scripts, so 64-bit integers are numbers, and what is undefined is null. (Protobuf's own JSON prints
// them as strings and leaves undefined fields out.)
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"

namespace tessera {

// Writes one value, indented. Owned by one thread. REQUIRES: calls nest properly; Key comes before each value of an object.
class JsonWriter {
 public:
  JsonWriter& BeginObject() { return Begin('{'); }
  JsonWriter& EndObject() { return End('}'); }
  JsonWriter& BeginArray() { return Begin('['); }
  JsonWriter& EndArray() { return End(']'); }
  JsonWriter& Key(absl::string_view name);

  JsonWriter& String(absl::string_view value);
  JsonWriter& Number(uint64_t value);
  JsonWriter& SignedNumber(int64_t value);
  // The shortest text that reads back as the same value; null unless finite.
  JsonWriter& Real(double value);
  JsonWriter& Real(float value);
  JsonWriter& Bool(bool value) { return Raw(value ? "true" : "false"); }
  JsonWriter& Null() { return Raw("null"); }
  // A message as an object, in the order of its fields. Absent optional fields and messages are null, members of a oneof that are not set
  // are left out, enum values go by name.
  JsonWriter& Message(const google::protobuf::Message& message);
  // The fields of a message without the braces, into an open object; fields named in `skip` are left out.
  JsonWriter& Fields(const google::protobuf::Message& message, const std::vector<std::string>& skip = {});

  // The text so far, with a final newline. REQUIRES: everything begun is ended.
  std::string Finish() const;

 private:
  JsonWriter& Begin(char bracket);
  JsonWriter& End(char bracket);
  JsonWriter& Raw(absl::string_view text);
  void Separate();
  void Field(const google::protobuf::Message& message, const google::protobuf::FieldDescriptor& field, int index);

  std::string text_;
  std::vector<bool> empty_;  // for each open bracket: nothing in it yet
  bool after_key_ = false;
};

}  // namespace tessera
