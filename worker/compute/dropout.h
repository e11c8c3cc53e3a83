// The random bits of dropout: a pure function of (key, row, unit), the same on every backend. Cheap enough to be made again wherever it is
// needed, so no mask is stored. Thread-safe: there is no state.
#pragma once

#include <cstdint>

#include "common/random.h"

namespace tessera {

struct DropoutRow {
  uint32_t a;
  uint32_t b;
};

inline DropoutRow MakeDropoutRow(uint64_t key, uint64_t row) {
  const uint64_t bits = MixKey(key, row);
  return {static_cast<uint32_t>(bits), static_cast<uint32_t>(bits >> 32)};
}

// 32 random bits of a unit: the finaliser of MurmurHash3 over a Weyl sequence, with the row's second key half way. Only 32-bit
// operations, so that loops over units become vector code.
inline uint32_t DropoutBits(DropoutRow row, uint32_t unit) {
  uint32_t x = unit * 0x9e3779b9u + row.a;
  x = (x ^ (x >> 16)) * 0x85ebca6bu;
  x = (x ^ (x >> 13) ^ row.b) * 0xc2b2ae35u;
  return x ^ (x >> 16);
}

// A unit is dropped if its bits are below this.
inline uint32_t DropoutThreshold(double rate) { return static_cast<uint32_t>(rate * 0x1.0p32); }

}  // namespace tessera
