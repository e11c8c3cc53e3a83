// A file that is there whole or not at all, or stdout.
#pragma once

#include <cstdio>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tessera {

// Written under another name beside its own, renamed by Commit; without Commit nothing is left. What is there and no file (a device, a
// pipe) is written to as it is. "-" is stdout. Move-only; owned by one thread.
class OutputFile {
 public:
  static absl::StatusOr<OutputFile> Create(const std::string& path);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  // Errors name the path: disk full, a closed pipe.
  absl::Status Write(absl::string_view text);
  absl::Status Commit();

 private:
  OutputFile(std::string path, std::string temporary, std::FILE* file)
      : path_(std::move(path)), temporary_(std::move(temporary)), file_(file) {}
  absl::Status Failed() const;

  const std::string path_;
  const std::string temporary_;  // empty: nothing to rename
  std::FILE* file_;
};

}  // namespace tessera
