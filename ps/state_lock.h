// The lock on a state folder: one process at a time uses it, and the next one is told who does.
#pragma once

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tessera {

// An advisory lock (flock) on the file LOCK of a folder, held until destruction or the end of the process, however it ends. The folder may
// be renamed while the lock is held. Move-only; thread-compatible.
class StateLock {
 public:
  // Creates `directory` where it is missing. `owner` is for people ("tessera train adult.yaml"); process and host are added.
  // FAILED_PRECONDITION if another process holds it: the message names that process.
  static absl::StatusOr<StateLock> Acquire(const std::string& directory, absl::string_view owner);

  StateLock(StateLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  StateLock& operator=(StateLock&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~StateLock();

 private:
  explicit StateLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace tessera
