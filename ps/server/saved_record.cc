#include "ps/server/saved_record.h"

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "ps/checkpoint/durable_file.h"

namespace tessera {
namespace {

std::string SavedPath(const std::string& folder) { return absl::StrCat(folder, "/SAVED"); }

}  // namespace

std::optional<SavedRecord> ReadSaved(const std::string& folder) {
  const absl::StatusOr<std::string> bytes = ReadFile(SavedPath(folder));
  SavedRecord record;
  if (!bytes.ok() || !record.ParseFromString(*bytes)) return std::nullopt;
  return record;
}

void RemoveSaved(const std::string& folder) {
  std::error_code ignored;  // a file that stays is refused by the save
  std::filesystem::remove(SavedPath(folder), ignored);
}

absl::Status WriteSaved(const std::string& folder, const SavedRecord& record) {
  return WriteFileDurably(SavedPath(folder), record.SerializeAsString());
}

}  // namespace tessera
