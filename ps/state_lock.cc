#include "ps/state_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace tessera {
namespace {

std::string Holder(int descriptor) {
  char text[256];
  const ssize_t size = pread(descriptor, text, sizeof text, 0);
  if (size <= 0) return "another process";
  return std::string(absl::StripSuffix(absl::string_view(text, static_cast<size_t>(size)), "\n"));
}

absl::Status WriteOwner(int descriptor, const std::string& path, absl::string_view owner) {
  char host[256] = "unknown host";
  (void)gethostname(host, sizeof host - 1);
  const std::string text = absl::StrCat(owner, " (process ", getpid(), " on ", host, ")\n");
  if (ftruncate(descriptor, 0) != 0 || pwrite(descriptor, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    return absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot write the owner of the lock"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<StateLock> StateLock::Acquire(const std::string& directory, absl::string_view owner) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return absl::ErrnoToStatus(error.value(), absl::StrCat(directory, ": cannot make the state folder"));
  const std::string path = absl::StrCat(directory, "/LOCK");
  // Close-on-exec: a child process must not keep the lock alive.
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0) return absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot open the lock"));
  StateLock lock(descriptor);
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot lock"));
    return absl::FailedPreconditionError(
        absl::StrCat(directory, " is in use by ", Holder(descriptor), "; wait for its end, or give this run another storage.directory"));
  }
  if (absl::Status written = WriteOwner(descriptor, path, owner); !written.ok()) return written;
  return lock;
}

StateLock::~StateLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace tessera
