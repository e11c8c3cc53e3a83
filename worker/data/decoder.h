// Decompression from the beginning of a file to its end.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "proto/plan.pb.h"

namespace tessera {

// Owned by one thread. An error is final, names the file and where in it; a file that is cut is DATA_LOSS, never the end of the data.
class Decoder {
 public:
  virtual ~Decoder() = default;
  // Reads the next plain bytes: fewer than `size` only at the end.
  virtual absl::StatusOr<size_t> Read(char* to, size_t size) = 0;
  // Plain bytes read so far.
  virtual uint64_t position() const = 0;
};

// zlib: one or several gzip members back to back (`cat a.gz b.gz`); zero bytes after the last one are padding.
std::unique_ptr<Decoder> NewGzipDecoder(const InputFile& file);
// zstd: one or several frames back to back, skippable ones too.
std::unique_ptr<Decoder> NewZstdDecoder(const InputFile& file);
// The decoder of the file's codec. REQUIRES: codec is not plain.
std::unique_ptr<Decoder> NewDecoder(const InputFile& file);

// The two ways a compressed file can be broken.
absl::Status CutError(const std::string& path, const char* codec, uint64_t stored_offset, uint64_t plain_offset);
absl::Status DamagedError(const std::string& path, const char* codec, uint64_t stored_offset, uint64_t plain_offset, const char* reason);

}  // namespace tessera
