// What a mistyped key could have been, told from the schema. Thread-safe: pure functions.
#pragma once

#include <string>
#include <vector>

#include "google/protobuf/descriptor.h"

namespace tessera {

struct KeyHint {
  std::string text;     // "no such key; did you mean batch_size?"
  std::string instead;  // the full key meant, if there is just one
};
// A hint about `word`, which is no key of `type`, the message at `path`.
KeyHint HintForKey(const std::string& word, const google::protobuf::Descriptor* type, const std::string& path);

// Names a value of an enum may have, in order; the "unspecified" one apart.
std::vector<std::string> EnumNames(const google::protobuf::EnumDescriptor* type);
std::vector<std::string> FieldNames(const google::protobuf::Descriptor* type);
// "is none of csv, criteo or libsvm; did you mean csv?"
std::string HintForWord(const std::string& word, const std::vector<std::string>& known);

}  // namespace tessera
