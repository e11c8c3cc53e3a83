#include "tools/run_folder.h"

#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/log.h"

namespace tessera {

absl::StatusOr<RunFolder> RunFolder::Create(const std::string& name, Clock* clock) {
  const std::string parent = absl::StrCat("runs/", name);
  std::error_code error;
  std::filesystem::create_directories(parent, error);
  if (error) return absl::ErrnoToStatus(error.value(), absl::StrCat(parent, ": cannot make the folder of this run"));
  const std::string base = absl::StrCat(parent, "/", absl::FormatTime("%Y%m%d-%H%M%S", clock->Now(), absl::LocalTimeZone()));
  std::string path = base;
  for (int i = 2; !std::filesystem::create_directory(path, error); ++i) {
    if (error) return absl::ErrnoToStatus(error.value(), absl::StrCat(path, ": cannot make the folder of this run"));
    path = absl::StrCat(base, "-", i);
  }
  return RunFolder(path);
}

std::string RunFolder::ServerLogPath(uint32_t shard) const { return absl::StrCat(path_, "/server-", shard, ".log"); }
std::string RunFolder::WorkerLogPath(uint32_t worker) const { return absl::StrCat(path_, "/worker-", worker, ".log"); }

void RunFolder::Write(const std::string& path, absl::string_view text) const {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  if (!file) LogWarning(absl::StrCat(path, ": cannot be written"));
}

}  // namespace tessera
