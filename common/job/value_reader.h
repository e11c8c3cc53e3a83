// One value of a job file: a text put into a field. Thread-safe: pure functions.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace tessera {

// Sets the field, or adds to it where it is a list. Errors say what is wrong with the text and what to write.
// REQUIRES: IsValue(field).
absl::Status SetValueFromText(const std::string& text, const google::protobuf::FieldDescriptor* field, google::protobuf::Message* message);

// What may stand there, for messages: "a whole number".
std::string WantedText(const google::protobuf::FieldDescriptor* field);

}  // namespace tessera
