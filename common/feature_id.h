// Feature ids: the 64-bit names of table rows. Part of the wire and disk contract: golden values stand in the test.
//
// id = XXH3_64bits_withSeed(token, seed) with seed = XXH3_64bits(embedding name). All 2^64 ids are usable. A number is written as a
// decimal integer without leading zeros before it is hashed, so 7 and "7" are one token and "007" is another.
// Thread-safe: constant after construction.
#pragma once

#include <cstdint>
#include <string_view>

namespace tessera {

// Hashes the tokens of one embedding.
class TokenHasher {
 public:
  explicit TokenHasher(std::string_view embedding);

  // Row of a token. An empty token is a token like any other.
  uint64_t Id(std::string_view token) const;
  uint64_t Id(uint64_t number) const;
  // Row of "no value here"; different from every token's in another embedding, and from the empty token's.
  uint64_t MissingId() const { return missing_; }
  // Row of bucket k of a numeric feature, and the single row that scaled values of the feature multiply.
  uint64_t BucketId(uint32_t bucket) const;
  uint64_t ScaledId() const { return scaled_; }
  // Row that stands in for every id of the embedding that has no row of its own.
  uint64_t RareId() const { return rare_; }

 private:
  const uint64_t seed_;
  const uint64_t missing_;
  const uint64_t scaled_;
  const uint64_t rare_;
  const uint64_t bucket_seed_;
};

}  // namespace tessera
