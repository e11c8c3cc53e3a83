// Rows of input after parsing: tokens are hashed, numerics treated. What the readers make and the batches are cut from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tessera {

// A run of rows in the layout of a Schema with F model fields and D dense inputs. Owned by one thread.
//
// An occurrence is one (row, field) look-up: an id and a scale that multiplies its embedding. criteo and csv have exactly one occurrence
// for each (row, field): occurrence i * F + f, and `offsets` is empty. libsvm has any number: those of (i, f) are
// [offsets[i * F + f], offsets[i * F + f + 1]), summed in the model; `offsets` has rows * F + 1 entries, the first one 0.
// `scales` is empty when every scale is 1.
struct Rows {
  uint32_t fields = 0;
  uint32_t dense_width = 0;
  std::vector<float> labels;      // rows; 0 or 1, or NaN where the input has no label
  std::vector<uint64_t> ids;      // occurrences
  std::vector<float> scales;      // occurrences, or empty
  std::vector<uint32_t> offsets;  // rows * fields + 1, or empty
  std::vector<float> dense;       // rows x dense_width, finite
  std::vector<uint64_t> keys;     // rows; file index << 48 | offset of the row's first byte among the file's plain bytes: names a row
  std::vector<std::string> kept;  // rows x kept columns, only where asked for

  size_t size() const { return labels.size(); }
  void Clear();
  // Appends row i of another run of the same layout.
  void AppendRow(const Rows& other, size_t i);
  void Append(const Rows& other);
};

inline constexpr int kRowKeyOffsetBits = 48;
inline uint32_t RowKeyFile(uint64_t key) { return static_cast<uint32_t>(key >> kRowKeyOffsetBits); }
inline uint64_t RowKeyOffset(uint64_t key) { return key & ((uint64_t{1} << kRowKeyOffsetBits) - 1); }

}  // namespace tessera
