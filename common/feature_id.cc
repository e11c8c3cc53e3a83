#include "common/feature_id.h"

#include <charconv>

#include <xxhash.h>

namespace tessera {
namespace {

// Ids that no token names are hashed with seeds of their own.
constexpr uint64_t kMissingSalt = 0x6d697373696e6701ull;
constexpr uint64_t kScaledSalt = 0x7363616c65640001ull;
constexpr uint64_t kBucketSalt = 0x6275636b65740001ull;
constexpr uint64_t kRareSalt = 0x7261726500000001ull;

}  // namespace

TokenHasher::TokenHasher(std::string_view embedding)
    : seed_(XXH3_64bits(embedding.data(), embedding.size())),
      missing_(XXH3_64bits_withSeed("", 0, seed_ ^ kMissingSalt)),
      scaled_(XXH3_64bits_withSeed("", 0, seed_ ^ kScaledSalt)),
      rare_(XXH3_64bits_withSeed("", 0, seed_ ^ kRareSalt)),
      bucket_seed_(seed_ ^ kBucketSalt) {}

uint64_t TokenHasher::Id(std::string_view token) const {
  return XXH3_64bits_withSeed(token.data(), token.size(), seed_);
}

uint64_t TokenHasher::Id(uint64_t number) const {
  char digits[20];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  return Id(std::string_view(digits, end - digits));
}

uint64_t TokenHasher::BucketId(uint32_t bucket) const {
  return XXH3_64bits_withSeed(&bucket, sizeof bucket, bucket_seed_);
}

}  // namespace tessera
