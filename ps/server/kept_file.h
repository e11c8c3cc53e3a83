// The line a server keeps beside its database and log: up to which record the database reached when the log was last shortened. It is there
// exactly while there is a state to go on from, so what a start finds can be told from what an opening left half-made; and a database that
// lost its end, which opens without a word where its manifest was cut short, is told from a whole one.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace tessera {

// Durable when it returns.
absl::Status WriteKept(const std::string& folder, uint64_t lsn);
// NOT_FOUND: there is no state to go on from. DATA_LOSS names the file.
absl::StatusOr<uint64_t> ReadKept(const std::string& folder);
// There is none any more, durably. Makes the folder if need be.
absl::Status RemoveKept(const std::string& folder);

}  // namespace tessera
