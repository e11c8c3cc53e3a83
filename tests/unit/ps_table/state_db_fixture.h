// Numbered rows for the tests of StateDb.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "common/random.h"
#include "ps/table/state_db.h"

namespace tessera {

// A row's size; write buffers of 512 KB, so that files are written and merged all the time.
inline constexpr size_t kValueBytes = 170;
inline constexpr StateDbOptions kSmall{.memory_bytes = 4u << 20};

inline std::string NumberKey(uint64_t number) {
  std::string key = "k0123456789";
  for (int i = 0; i < 8; ++i) key[3 + i] = static_cast<char>(number >> (56 - 8 * i));
  return key;
}

// Different for each key and each version of its row.
inline std::string ValueOf(uint64_t number, uint64_t version) {
  std::string value(kValueBytes, '\0');
  for (size_t i = 0; i < kValueBytes; ++i) value[i] = static_cast<char>(MixKey(number, version, i / 8) >> (i % 8 * 8));
  return value;
}

inline void PutNumbers(StateDb* db, uint64_t begin, uint64_t end, uint64_t version) {
  StateDb::Batch batch;
  for (uint64_t n = begin; n < end; ++n) batch.Put(NumberKey(n), ValueOf(n, version));
  const absl::Status status = db->Write(&batch);
  ASSERT_TRUE(status.ok()) << status;
}

// Index in `numbers` to value.
inline std::map<size_t, std::string> Find(const StateDb& db, const std::vector<uint64_t>& numbers) {
  std::string keys;
  for (uint64_t n : numbers) keys += NumberKey(n);
  std::map<size_t, std::string> found;
  const absl::Status status = db.MultiGet(keys.data(), 11, numbers.size(), [&](size_t i, absl::string_view value) {
    EXPECT_TRUE(found.empty() || found.rbegin()->first < i);
    found[i] = std::string(value);
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
  return found;
}

}  // namespace tessera
