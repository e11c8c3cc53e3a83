#include "tools/temporary_folder.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace tessera {

absl::StatusOr<TemporaryFolder> TemporaryFolder::Create() {
  const char* parent = std::getenv("TMPDIR");
  std::string path = absl::StrCat(parent != nullptr && *parent != '\0' ? parent : "/tmp", "/tessera-XXXXXX");
  if (mkdtemp(path.data()) == nullptr) {
    return absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot make a temporary folder (TMPDIR names where)"));
  }
  return TemporaryFolder(path);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace tessera
