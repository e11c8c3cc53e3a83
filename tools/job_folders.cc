#include "tools/job_folders.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/job/job_file.h"
#include "common/status_macros.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr char kOldSuffix[] = ".old-";  // and a time

absl::Status MoveAside(const std::string& folder, absl::Time now, std::vector<std::string>* moved) {
  std::error_code error;
  if (!fs::exists(folder, error)) return absl::OkStatus();
  const std::string base = absl::StrCat(folder, kOldSuffix, absl::FormatTime("%Y%m%d-%H%M%S", now, absl::UTCTimeZone()));
  std::string target = base;
  for (int i = 2; fs::exists(target, error); ++i) target = absl::StrCat(base, "-", i);
  fs::rename(folder, target, error);
  if (error) return absl::ErrnoToStatus(error.value(), absl::StrCat(folder, ": cannot be moved aside to ", target));
  moved->push_back(target);
  return absl::OkStatus();
}

std::string FolderPath(const std::string& path) {
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  return (error ? fs::path(path) : absolute).lexically_normal();
}

}  // namespace

JobFolders FoldersOf(const Job& job) {
  Job effective = job;
  std::vector<Origin> origins;
  FillDefaults(DataSize(), &effective, &origins);
  return {FolderPath(effective.storage().directory()), FolderPath(effective.checkpoint().directory())};
}

absl::StatusOr<StateLock> TakeFolders(const JobFolders& folders, const std::string& owner, bool fresh, Clock* clock,
                                      std::vector<std::string>* moved) {
  TESSERA_ASSIGN_OR_RETURN(StateLock lock, StateLock::Acquire(folders.state, owner));
  if (!fresh) return lock;
  TESSERA_RETURN_IF_ERROR(MoveAside(folders.checkpoints, clock->Now(), moved));
  TESSERA_RETURN_IF_ERROR(MoveAside(folders.state, clock->Now(), moved));
  // The lock has moved with the folder: take the new folder's while the old one is still held.
  return StateLock::Acquire(folders.state, owner);
}

absl::Status PutBack(const std::vector<std::string>& moved) {
  for (const std::string& path : moved) {
    const std::string original = path.substr(0, path.rfind(kOldSuffix));
    std::error_code error;
    std::filesystem::remove_all(original, error);
    if (!error) std::filesystem::rename(path, original, error);
    if (error) return absl::ErrnoToStatus(error.value(), absl::StrCat(path, ": cannot be moved back to ", original));
  }
  return absl::OkStatus();
}

}  // namespace tessera
