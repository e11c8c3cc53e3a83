// The answer to a save, kept beside what was saved: a save that comes again, late or because its answer was lost, is answered the same, and changes no
// file that a manifest may name by now.
#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "proto/shard.pb.h"

namespace tessera {

// That of `folder`; nullopt: nothing whole was saved there.
std::optional<SavedRecord> ReadSaved(const std::string& folder);
// There is none any more. Before another save into the folder begins.
void RemoveSaved(const std::string& folder);
// Durable when it returns. After all that was saved.
absl::Status WriteSaved(const std::string& folder, const SavedRecord& record);

}  // namespace tessera
