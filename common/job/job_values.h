// The values of a job as text, by key path: what origins, printed jobs and differences are made of. Thread-safe: pure functions.
#pragma once

#include <string>
#include <vector>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "proto/job.pb.h"

namespace tessera {

// Whether a field is one value in the file: a scalar, a list of scalars, a duration, a size or a cadence.
bool IsValue(const google::protobuf::FieldDescriptor* field);
// Whether a message is a choice between kinds, like Optimizer: all its fields stand in one oneof.
bool IsChoice(const google::protobuf::Descriptor* type);

// The value as it would be written in the file. REQUIRES: IsValue(field).
std::string ValueText(const google::protobuf::Message& message, const google::protobuf::FieldDescriptor* field);
// A text as a YAML scalar: quoted where it must be.
std::string QuoteText(const std::string& text);

struct JobValue {
  std::string key;   // "training.batch_size", "features[0].match"
  std::string text;  // "512"; "{}" for a message without values
};
// Every value that is present, in the order of the schema.
std::vector<JobValue> JobValues(const Job& job);

}  // namespace tessera
