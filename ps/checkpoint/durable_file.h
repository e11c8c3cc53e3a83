// Small files that survive a loss of power: written beside, synced, renamed, and the folder synced.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tessera {

// Replaces the file at once: a reader, and whoever comes after a crash, sees the old contents or the new. Two writers of one file at a
// time are the caller's mistake. Errors name the path.
absl::Status WriteFileDurably(const std::string& path, absl::string_view contents);

// A file or folder; false also where it cannot be looked at.
bool FileExists(const std::string& path);

// NOT_FOUND if there is no such file.
absl::StatusOr<std::string> ReadFile(const std::string& path);

// Creates a folder, and those above it that are missing, so that all of them are still there after a crash.
absl::Status CreateDirectoriesDurably(const std::string& path);

// Makes a folder's entries (created, renamed, removed) durable.
absl::Status SyncDirectory(const std::string& path);
// The same for every file and folder below, and the folder itself.
absl::Status SyncTree(const std::string& folder);

}  // namespace tessera
