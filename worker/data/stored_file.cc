#include "worker/data/stored_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace tessera {
namespace {

constexpr size_t kStoredChunkBytes = 256 << 10;

absl::Status ErrorAt(const std::string& path, int error) {
  const std::string message = absl::StrCat(path, ": ", std::strerror(error));
  return error == ENOENT ? absl::NotFoundError(message) : absl::InvalidArgumentError(message);
}

absl::StatusOr<uint64_t> SizeOf(int descriptor, const std::string& path) {
  struct stat status;
  if (fstat(descriptor, &status) != 0) return ErrorAt(path, errno);
  if (!S_ISREG(status.st_mode)) return absl::InvalidArgumentError(absl::StrCat(path, ": is not a regular file"));
  return static_cast<uint64_t>(status.st_size);
}

}  // namespace

absl::StatusOr<uint64_t> StoredSize(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return ErrorAt(path, errno);
  const auto closer = absl::MakeCleanup([descriptor] { close(descriptor); });
  return SizeOf(descriptor, path);
}

absl::StatusOr<size_t> ReadStored(const std::string& path, uint64_t stored_bytes, uint64_t offset, char* to, size_t size) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return ErrorAt(path, errno);
  const auto closer = absl::MakeCleanup([descriptor] { close(descriptor); });
  TESSERA_ASSIGN_OR_RETURN(const uint64_t size_now, SizeOf(descriptor, path));
  if (size_now != stored_bytes) {
    return absl::FailedPreconditionError(absl::StrCat(path, ": has ", size_now, " bytes now and had ", stored_bytes,
                                                      " when the job was planned; files of a job must not change while it runs"));
  }
  size_t done = 0;
  while (done < size) {
    const ssize_t count = pread(descriptor, to + done, size - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ErrorAt(path, errno);
    if (count == 0) break;
    done += static_cast<size_t>(count);
  }
  return done;
}

StoredReader::StoredReader(std::string path, uint64_t stored_bytes) : path_(std::move(path)), stored_bytes_(stored_bytes) {}

absl::StatusOr<absl::Span<const char>> StoredReader::Next() {
  buffer_.resize(std::min<uint64_t>(kStoredChunkBytes, stored_bytes_ - offset_));
  if (buffer_.empty()) return absl::Span<const char>();
  TESSERA_ASSIGN_OR_RETURN(const size_t count, ReadStored(path_, stored_bytes_, offset_, buffer_.data(), buffer_.size()));
  offset_ += count;
  return absl::Span<const char>(buffer_.data(), count);
}

Codec TellCodec(absl::Span<const char> first_bytes) {
  const auto starts_with = [first_bytes](std::string_view magic) {
    // A file cut inside its magic number is still told, so that it is reported as cut.
    const size_t length = std::min(magic.size(), first_bytes.size());
    return length > 0 && std::memcmp(first_bytes.data(), magic.data(), length) == 0;
  };
  if (starts_with("\x1f\x8b")) return gzip;
  if (first_bytes.size() > 1 && starts_with("\x28\xb5\x2f\xfd")) return zstd;
  // zstd's skippable frames: 0x184d2a50 to 0x184d2a5f, little-endian.
  if (first_bytes.size() >= 4 && (first_bytes[0] & 0xf0) == 0x50 && std::memcmp(first_bytes.data() + 1, "\x2a\x4d\x18", 3) == 0) return zstd;
  return plain;
}

}  // namespace tessera
