#include "ps/server/kept_file.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/status_macros.h"
#include "ps/checkpoint/durable_file.h"

namespace tessera {
namespace {

constexpr absl::string_view kPrefix = "the database holds all up to record ";

std::string KeptPath(const std::string& folder) { return absl::StrCat(folder, "/KEPT"); }

}  // namespace

absl::Status WriteKept(const std::string& folder, uint64_t lsn) {
  return WriteFileDurably(KeptPath(folder), absl::StrCat(kPrefix, lsn, "\n"));
}

absl::StatusOr<uint64_t> ReadKept(const std::string& folder) {
  TESSERA_ASSIGN_OR_RETURN(const std::string text, ReadFile(KeptPath(folder)));
  absl::string_view rest = text;
  uint64_t lsn = 0;
  if (absl::ConsumePrefix(&rest, kPrefix) && absl::ConsumeSuffix(&rest, "\n") && absl::SimpleAtoi(rest, &lsn)) return lsn;
  return absl::DataLossError(absl::StrCat(KeptPath(folder), ": is damaged: it says no record"));
}

absl::Status RemoveKept(const std::string& folder) {
  TESSERA_RETURN_IF_ERROR(CreateDirectoriesDurably(folder));
  std::error_code error;
  std::filesystem::remove(KeptPath(folder), error);
  if (error) return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot remove ", KeptPath(folder)));
  return SyncDirectory(folder);
}

}  // namespace tessera
