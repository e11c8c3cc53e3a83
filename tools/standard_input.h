// Standard input as a file that can be read more than once.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace tessera {

// Copies standard input into a temporary file that has no name any more and is gone with this process; returns a path that opens it here.
// To be called once.
absl::StatusOr<std::string> SpoolStandardInput();

// The same status with that path, where its message has it, as "standard input".
absl::Status NameStandardInput(const absl::Status& status);

}  // namespace tessera
