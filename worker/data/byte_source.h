// The plain (decompressed) bytes of an input file, readable at any place.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "proto/plan.pb.h"

namespace tessera {

// Thread-safe.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual const std::string& path() const = 0;
  virtual uint64_t size() const = 0;
  // Reads `size` bytes from `offset`, fewer only at the end of the data. Errors name the file; one that is cut or has changed since it was
  // described is an error, never an early end.
  virtual absl::StatusOr<size_t> ReadAt(uint64_t offset, char* to, size_t size) = 0;
};

// REQUIRES: codec and sizes of `file` are filled in.
//
// A plain file is read in place. A compressed one is kept in memory where TakeKept (common/epoch_order.h) says so. A larger one is decompressed forward: reads in ascending order are cheap, a read behind all of a few remembered positions starts
// again from the beginning of the file. (So huge inputs are better stored plain, or as many files.)
std::unique_ptr<ByteSource> OpenByteSource(const InputFile& file, uint64_t* kept_bytes_left);

}  // namespace tessera
