#include <xxhash.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "worker/data/decoder.h"
#include "worker/data/input.h"
#include "worker/data/stored_file.h"

namespace tessera {
namespace {

constexpr uint64_t kFingerprintEdgeBytes = 64 << 10;

absl::StatusOr<std::vector<char>> ReadRange(const std::string& path, uint64_t stored_bytes, uint64_t begin, uint64_t end) {
  std::vector<char> bytes(end - begin);
  TESSERA_ASSIGN_OR_RETURN(const size_t count, ReadStored(path, stored_bytes, begin, bytes.data(), bytes.size()));
  bytes.resize(count);
  return bytes;
}

// Of the size and both ends; for a small file that is all of it.
absl::StatusOr<std::string> Fingerprint(const std::string& path, uint64_t stored_bytes, const std::vector<char>& first) {
  const uint64_t tail_begin = std::max<uint64_t>(first.size(), stored_bytes - std::min(stored_bytes, kFingerprintEdgeBytes));
  TESSERA_ASSIGN_OR_RETURN(const std::vector<char> last, ReadRange(path, stored_bytes, tail_begin, stored_bytes));
  std::vector<char> bytes(sizeof stored_bytes);
  std::copy_n(reinterpret_cast<const char*>(&stored_bytes), sizeof stored_bytes, bytes.begin());
  bytes.insert(bytes.end(), first.begin(), first.end());
  bytes.insert(bytes.end(), last.begin(), last.end());
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return absl::StrCat(absl::Hex(hash.high64, absl::kZeroPad16), absl::Hex(hash.low64, absl::kZeroPad16));
}

absl::StatusOr<uint64_t> CountPlainBytes(const InputFile& file) {
  const std::unique_ptr<Decoder> decoder = NewDecoder(file);
  std::vector<char> scratch(1 << 20);
  size_t count = scratch.size();
  while (count == scratch.size()) {
    TESSERA_ASSIGN_OR_RETURN(count, decoder->Read(scratch.data(), scratch.size()));
  }
  return decoder->position();
}

}  // namespace

absl::StatusOr<InputFile> DescribeFile(const std::string& path) {
  InputFile file;
  file.set_path(path);
  TESSERA_ASSIGN_OR_RETURN(const uint64_t stored_bytes, StoredSize(path));
  file.set_stored_bytes(stored_bytes);
  TESSERA_ASSIGN_OR_RETURN(const std::vector<char> first, ReadRange(path, stored_bytes, 0, std::min(stored_bytes, kFingerprintEdgeBytes)));
  file.set_codec(TellCodec(first));
  TESSERA_ASSIGN_OR_RETURN(*file.mutable_fingerprint(), Fingerprint(path, stored_bytes, first));
  file.set_plain_bytes(stored_bytes);
  if (file.codec() != plain) {
    TESSERA_ASSIGN_OR_RETURN(const uint64_t plain_bytes, CountPlainBytes(file));
    file.set_plain_bytes(plain_bytes);
  }
  return file;
}

}  // namespace tessera
