#include "tools/output_file.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tessera {

absl::StatusOr<OutputFile> OutputFile::Create(const std::string& path) {
  if (path == "-") return OutputFile("standard output", "", stdout);
  std::error_code error;
  const bool replaceable = !std::filesystem::exists(path, error) || std::filesystem::is_regular_file(path, error);
  std::string temporary = replaceable ? absl::StrCat(path, ".unfinished-", getpid()) : "";
  std::FILE* file = std::fopen(replaceable ? temporary.c_str() : path.c_str(), "wb");
  if (file == nullptr) return absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot be written"));
  return OutputFile(path, std::move(temporary), file);
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(other.path_), temporary_(other.temporary_), file_(std::exchange(other.file_, nullptr)) {}

OutputFile::~OutputFile() {
  if (file_ == nullptr || file_ == stdout) return;
  std::fclose(file_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

absl::Status OutputFile::Failed() const { return absl::ErrnoToStatus(errno, absl::StrCat(path_, ": cannot be written")); }

absl::Status OutputFile::Write(absl::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), file_) != text.size()) return Failed();
  return absl::OkStatus();
}

absl::Status OutputFile::Commit() {
  if (std::fflush(file_) != 0) return Failed();
  if (temporary_.empty()) return absl::OkStatus();
  if (std::fclose(std::exchange(file_, nullptr)) != 0 || std::rename(temporary_.c_str(), path_.c_str()) != 0) {
    const absl::Status status = Failed();
    unlink(temporary_.c_str());
    return status;
  }
  return absl::OkStatus();
}

}  // namespace tessera
