// The last incarnation of a job's servers, kept in the state folder so that it only ever grows, also where no checkpoint was made.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace tessera {

// 0 if there is no such file. DATA_LOSS, naming the file, if it holds no number.
absl::StatusOr<uint64_t> ReadIncarnation(const std::string& state_directory);
// Durable when it returns: no server is opened under a number that could be given out again.
absl::Status WriteIncarnation(const std::string& state_directory, uint64_t incarnation);

}  // namespace tessera
