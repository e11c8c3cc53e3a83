#include "worker/data/decoder.h"

#include <cassert>

#include "absl/strings/str_cat.h"

namespace tessera {

std::unique_ptr<Decoder> NewDecoder(const InputFile& file) {
  assert(file.codec() != plain);
  return file.codec() == gzip ? NewGzipDecoder(file) : NewZstdDecoder(file);
}

absl::Status CutError(const std::string& path, const char* codec, uint64_t stored_offset, uint64_t plain_offset) {
  return absl::DataLossError(absl::StrCat(path, ": ends early: its ", codec, " data is cut off at stored byte ", stored_offset,
                                          ", after plain byte ", plain_offset, "; copy the file again"));
}

absl::Status DamagedError(const std::string& path, const char* codec, uint64_t stored_offset, uint64_t plain_offset, const char* reason) {
  return absl::DataLossError(absl::StrCat(path, ": its ", codec, " data is damaged near stored byte ", stored_offset, ", after plain byte ",
                                          plain_offset, ": ", reason, "; copy the file again"));
}

}  // namespace tessera
