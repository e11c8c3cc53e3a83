// A folder that is gone when its owner is.
#pragma once

#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace tessera {

// Below $TMPDIR, else /tmp. Move-only; owned by one thread.
class TemporaryFolder {
 public:
  static absl::StatusOr<TemporaryFolder> Create();
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder();

  const std::string& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace tessera
