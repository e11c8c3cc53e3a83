// A file's bytes as they are stored. Files are opened for each read and not kept open: a job may have more of them than a process may
// hold open.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/plan.pb.h"

namespace tessera {

// Size of a regular file. Errors name the path.
absl::StatusOr<uint64_t> StoredSize(const std::string& path);

// Reads `size` bytes from `offset`, fewer only at the file's end. Fails when the file no longer has `stored_bytes` bytes: then it is not
// the file that the plan describes. Thread-safe.
absl::StatusOr<size_t> ReadStored(const std::string& path, uint64_t stored_bytes, uint64_t offset, char* to, size_t size);

// Reads a file from its beginning to its end. Owned by one thread.
class StoredReader {
 public:
  StoredReader(std::string path, uint64_t stored_bytes);
  const std::string& path() const { return path_; }
  // Stored bytes handed out so far.
  uint64_t offset() const { return offset_; }
  // The next bytes; empty at the end. They live until the next call.
  absl::StatusOr<absl::Span<const char>> Next();

 private:
  const std::string path_;
  const uint64_t stored_bytes_;
  uint64_t offset_ = 0;
  std::vector<char> buffer_;
};

// Tells the codec by the first bytes, not by the name.
Codec TellCodec(absl::Span<const char> first_bytes);

}  // namespace tessera
