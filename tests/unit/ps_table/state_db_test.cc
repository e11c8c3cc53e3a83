#include "ps/table/state_db.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/random.h"
#include "tests/unit/ps_table/state_db_fixture.h"
#include "tests/unit/ps_table/table_fixture.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> TableFiles(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".sst") files.push_back(entry.path());
  }
  return files;
}

TEST(StateDbTest, WhatWasFlushedIsThereAgainAndWhatWasNotIsLost) {
  const TestFolder folder("state_db");
  {
    const auto db = StateDb::Create(folder / "db").value();
    PutNumbers(db.get(), 0, 1000, 1);
    ASSERT_TRUE(db->Flush().ok());
    PutNumbers(db.get(), 500, 1500, 2);
    EXPECT_EQ(db->Get(NumberKey(500)).value(), ValueOf(500, 2));
  }
  const auto db = StateDb::Open(folder / "db").value();
  EXPECT_EQ(db->Get(NumberKey(0)).value(), ValueOf(0, 1));
  EXPECT_EQ(db->Get(NumberKey(500)).value(), ValueOf(500, 1));
  EXPECT_EQ(db->Get(NumberKey(1000)).status().code(), absl::StatusCode::kNotFound);
}

TEST(StateDbTest, CreateEmptiesAndOpenFindsNothingWhereNothingIs) {
  const TestFolder folder("state_db");
  EXPECT_EQ(StateDb::Open(folder / "db").status().code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(folder / "db"));
  {
    const auto db = StateDb::Create(folder / "db").value();
    PutNumbers(db.get(), 0, 10, 1);
    ASSERT_TRUE(db->Flush().ok());
    EXPECT_FALSE(StateDb::Create(folder / "db").ok());  // in use: it stays
    EXPECT_TRUE(db->Get(NumberKey(3)).ok());
  }
  const auto db = StateDb::Create(folder / "db").value();
  EXPECT_EQ(db->Get(NumberKey(3)).status().code(), absl::StatusCode::kNotFound);
}

// Each batch gives all keys one version, so that half a batch would show as two of them.
TEST(StateDbTest, NothingHalfOfABatchIsReadAfterAnEnd) {
  constexpr uint64_t kKeys = 700;
  const TestFolder folder("state_db");
  { const auto db = StateDb::Create(folder / "db", kSmall).value(); }
  std::vector<uint64_t> numbers(kKeys);
  for (uint64_t n = 0; n < kKeys; ++n) numbers[n] = n;
  uint64_t last_version = 0;
  for (uint64_t round = 0; round < 8; ++round) {
    uint64_t written = last_version;
    {
      const auto db = StateDb::Open(folder / "db", kSmall).value();
      const uint64_t batches = 3 + Mix64(round) % 20;
      for (uint64_t b = 0; b < batches; ++b) PutNumbers(db.get(), 0, kKeys, ++written);
    }
    const auto db = StateDb::OpenForReading(folder / "db").value();
    const auto found = Find(*db, numbers);
    if (found.empty()) continue;
    ASSERT_EQ(found.size(), kKeys);
    uint64_t version = last_version;
    while (version <= written && found.at(0) != ValueOf(0, version)) ++version;
    ASSERT_LE(version, written);  // no older than before
    for (uint64_t n = 0; n < kKeys; ++n) ASSERT_EQ(found.at(n), ValueOf(n, version)) << n;
    last_version = version;
  }
  EXPECT_GT(last_version, 0u);
}

TEST(StateDbTest, MultiGetFindsExactlyWhatIsThere) {
  const TestFolder folder("state_db");
  const auto db = StateDb::Create(folder / "db", kSmall).value();
  std::map<uint64_t, uint64_t> model;  // number to version
  RandomSequence random(11);
  for (uint64_t round = 0; round < 60; ++round) {
    StateDb::Batch batch;
    for (int i = 0; i < 500; ++i) {
      const uint64_t number = random.Below(20000);
      if (random.Below(4) == 0) {
        batch.Delete(NumberKey(number));
        model.erase(number);
      } else {
        batch.Put(NumberKey(number), ValueOf(number, round));
        model[number] = round;
      }
    }
    ASSERT_TRUE(db->Write(&batch).ok());
    std::vector<uint64_t> numbers;
    for (uint64_t i = random.Below(1500); i > 0; --i) numbers.push_back(random.Below(20000));
    std::sort(numbers.begin(), numbers.end());  // some twice
    const auto found = Find(*db, numbers);
    for (size_t i = 0; i < numbers.size(); ++i) {
      const auto known = model.find(numbers[i]);
      ASSERT_EQ(found.count(i), known == model.end() ? 0u : 1u) << numbers[i];
      if (known != model.end()) {
        ASSERT_EQ(found.at(i), ValueOf(numbers[i], known->second));
      }
    }
  }
  auto expected = model.begin();
  ASSERT_TRUE(db->ForEach("k", "l", [&](absl::string_view key, absl::string_view value) {
                  EXPECT_EQ(key, NumberKey(expected->first));
                  EXPECT_EQ(value, ValueOf(expected->first, expected->second));
                  ++expected;
                  return absl::OkStatus();
                }).ok());
  EXPECT_TRUE(expected == model.end());
}

TEST(StateDbTest, MultiGetStopsAtTheFirstErrorOfItsBody) {
  const TestFolder folder("state_db");
  const auto db = StateDb::Create(folder / "db").value();
  PutNumbers(db.get(), 0, 3, 1);
  const std::string keys = NumberKey(0) + NumberKey(1) + NumberKey(2);
  int calls = 0;
  const absl::Status status = db->MultiGet(keys.data(), 11, 3, [&](size_t i, absl::string_view) {
    ++calls;
    return i == 1 ? absl::DataLossError("bad") : absl::OkStatus();
  });
  EXPECT_EQ(status, absl::DataLossError("bad"));
  EXPECT_EQ(calls, 2);
}

TEST(StateDbTest, ADamagedByteIsDataLossThatNamesTheFile) {
  const TestFolder folder("state_db");
  {
    const auto db = StateDb::Create(folder / "db").value();
    PutNumbers(db.get(), 0, 5000, 1);
    ASSERT_TRUE(db->Flush().ok());
  }
  const std::vector<std::string> files = TableFiles(folder / "db");
  ASSERT_EQ(files.size(), 1u);
  std::fstream file(files[0], std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(100000);  // rows come first
  const int byte = file.get();
  file.seekp(100000);
  file.put(static_cast<char>(byte ^ 4));
  file.close();

  const auto db = StateDb::Open(folder / "db").value();
  std::string keys;
  for (uint64_t n = 0; n < 5000; ++n) keys += NumberKey(n);
  const auto ignore = [](size_t, absl::string_view) { return absl::OkStatus(); };
  const absl::Status status = db->MultiGet(keys.data(), 11, 5000, ignore);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(files[0]));
  EXPECT_THAT(std::string(status.message()), HasSubstr("offset"));
  const absl::Status scan = db->ForEach("k", "l", [](absl::string_view, absl::string_view) { return absl::OkStatus(); });
  EXPECT_EQ(scan.code(), absl::StatusCode::kDataLoss) << scan;
  EXPECT_TRUE(db->MultiGet(keys.data(), 11, 100, ignore).ok());  // what is whole can be read
}

TEST(StateDbTest, ACheckpointHoldsWhatWasWrittenBeforeWhileWritingGoesOn) {
  const TestFolder folder("state_db");
  const auto db = StateDb::Create(folder / "db", kSmall).value();
  std::atomic<uint64_t> written{0};
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (uint64_t version = 1; !stop.load(); ++version) {
      PutNumbers(db.get(), 0, 300, version);
      written.store(version);
    }
  });
  for (int round = 0; round < 5; ++round) {
    const uint64_t before = written.load();
    const auto files = db->Checkpoint(folder / "saved");
    ASSERT_TRUE(files.ok()) << files.status();
    const auto saved = StateDb::OpenForReading(folder / "saved").value();
    if (before == 0) continue;
    const std::string value = saved->Get(NumberKey(0)).value();
    uint64_t version = before;
    while (version < before + 100000 && value != ValueOf(0, version)) ++version;
    for (uint64_t n = 0; n < 300; ++n) ASSERT_EQ(saved->Get(NumberKey(n)).value(), ValueOf(n, version));
  }
  stop.store(true);
  writer.join();
}

}  // namespace
}  // namespace tessera
