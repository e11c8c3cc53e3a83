#include "ps/coordinator/incarnation_file.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "ps/checkpoint/durable_file.h"

namespace tessera {
namespace {

std::string IncarnationPath(const std::string& state_directory) { return absl::StrCat(state_directory, "/INCARNATION"); }

}  // namespace

absl::StatusOr<uint64_t> ReadIncarnation(const std::string& state_directory) {
  const std::string path = IncarnationPath(state_directory);
  absl::StatusOr<std::string> text = ReadFile(path);
  if (absl::IsNotFound(text.status())) return 0;
  TESSERA_RETURN_IF_ERROR(text.status());
  uint64_t incarnation = 0;
  if (!absl::SimpleAtoi(*text, &incarnation)) return absl::DataLossError(absl::StrCat(path, ": damaged: it holds no number"));
  return incarnation;
}

absl::Status WriteIncarnation(const std::string& state_directory, uint64_t incarnation) {
  TESSERA_RETURN_IF_ERROR(CreateDirectoriesDurably(state_directory));
  return WriteFileDurably(IncarnationPath(state_directory), absl::StrCat(incarnation, "\n"));
}

}  // namespace tessera
