// The manifest of a checkpoint as a file: protobuf JSON, so that people and any language can read it.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/checkpoint.pb.h"

namespace tessera {

inline constexpr char kManifestName[] = "MANIFEST.json";

// Writes folder/MANIFEST.json durably, with this program's format version.
absl::Status WriteManifest(const std::string& folder, const Checkpoint& manifest);

// NOT_FOUND without a manifest, FAILED_PRECONDITION if a newer program wrote it, DATA_LOSS if it is damaged; each names the file.
// Every number comes back to the bit.
absl::StatusOr<Checkpoint> ReadManifest(const std::string& folder);

}  // namespace tessera
