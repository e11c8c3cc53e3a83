// Counter-based random numbers: every value is a pure function of its key, so results do not depend on threads, servers or the order
// in which things happen. Thread-safe: there is no state.
#pragma once

#include <cstdint>

namespace tessera {

// The finaliser of SplitMix64 (Steele, Lea, Flood 2014): a bijection whose output bits all depend on all input bits.
inline uint64_t Mix64(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// A key made of parts, for example MixKey(seed, epoch, share). The order of the parts matters.
inline uint64_t MixKey(uint64_t key) { return Mix64(key); }
template <class... Rest>
uint64_t MixKey(uint64_t first, uint64_t second, Rest... rest) {
  return MixKey(Mix64(first) ^ (second * 0xd6e8feb86659fd93ull + 0x632be59bd9b4e019ull), static_cast<uint64_t>(rest)...);
}

// Uniform in [0, 1) with 24 random bits: every value is exact in float.
inline float UniformFloat(uint64_t bits) { return static_cast<float>(bits >> 40) * 0x1.0p-24f; }
// Uniform in [0, 1) with 53 random bits.
inline double UniformDouble(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1.0p-53; }

// A sequence of random words from one key; copyable, owned by one thread.
class RandomSequence {
 public:
  explicit RandomSequence(uint64_t key) : state_(Mix64(key)) {}
  uint64_t Next() { return Mix64(state_ += 0x9e3779b97f4a7c15ull); }
  // Uniform in [0, bound) without bias worth speaking of (bound far below 2^64). REQUIRES: bound > 0.
  uint64_t Below(uint64_t bound) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(Next()) * bound) >> 64);
  }

 private:
  uint64_t state_;
};

}  // namespace tessera
