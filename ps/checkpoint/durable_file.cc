#include "ps/checkpoint/durable_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace tessera {
namespace {

// Owns a file descriptor.
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() {
    if (value_ >= 0) close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return value_; }

 private:
  const int value_;
};

absl::Status SystemError(absl::string_view what, const std::string& path) {
  const int error = errno;
  return absl::ErrnoToStatus(error, absl::StrCat(path, ": ", what, " failed"));
}

absl::Status WriteAll(int descriptor, absl::string_view contents, const std::string& path) {
  while (!contents.empty()) {
    const ssize_t written = write(descriptor, contents.data(), contents.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return SystemError("write", path);
    contents.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

absl::Status SyncPath(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return SystemError("open", path);
  if (fsync(file.get()) != 0) return SystemError("fsync", path);
  return absl::OkStatus();
}

}  // namespace

bool FileExists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

absl::Status WriteFileDurably(const std::string& path, absl::string_view contents) {
  const std::string beside = absl::StrCat(path, ".tmp");
  {
    const Descriptor file(open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (file.get() < 0) return SystemError("open", beside);
    TESSERA_RETURN_IF_ERROR(WriteAll(file.get(), contents, beside));
    if (fsync(file.get()) != 0) return SystemError("fsync", beside);
  }
  if (rename(beside.c_str(), path.c_str()) != 0) return SystemError("rename", path);
  return SyncDirectory(std::filesystem::path(path).parent_path().string());
}

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return SystemError("open", path);
  std::string contents;
  std::vector<char> buffer(1 << 16);
  while (true) {
    const ssize_t got = read(file.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SystemError("read", path);
    if (got == 0) return contents;
    contents.append(buffer.data(), static_cast<size_t>(got));
  }
}

absl::Status CreateDirectoriesDurably(const std::string& path) {
  namespace fs = std::filesystem;
  std::vector<fs::path> missing;
  for (fs::path at(path); !at.empty() && !FileExists(at.string()); at = at.parent_path()) missing.push_back(at);
  std::error_code error;
  for (auto at = missing.rbegin(); at != missing.rend(); ++at) {
    fs::create_directory(*at, error);
    if (error) return absl::ErrnoToStatus(error.value(), absl::StrCat(at->string(), ": cannot create folder"));
    TESSERA_RETURN_IF_ERROR(SyncDirectory(at->parent_path().string()));
  }
  if (!fs::is_directory(path, error)) {
    return absl::ErrnoToStatus(error ? error.value() : ENOTDIR, absl::StrCat(path, ": cannot create folder"));
  }
  return absl::OkStatus();
}

absl::Status SyncDirectory(const std::string& path) { return SyncPath(path.empty() ? "." : path); }

absl::Status SyncTree(const std::string& folder) {
  std::error_code error;
  std::filesystem::recursive_directory_iterator it(folder, error), end;
  for (; !error && it != end; it.increment(error)) {
    const bool link = it->is_symlink(error);
    if (error) break;
    if (link) continue;
    TESSERA_RETURN_IF_ERROR(SyncPath(it->path().string()));
  }
  if (error) return absl::InternalError(absl::StrCat(folder, ": cannot list: ", error.message()));
  return SyncPath(folder);
}

}  // namespace tessera
