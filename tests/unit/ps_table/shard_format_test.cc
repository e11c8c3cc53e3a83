#include "ps/table/shard_format.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/escaping.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

struct EncodedRow {
  EncodedRow() {
    row.id = 0x0123456789abcdefull;
    row.header = {5, 7, 3, 1.5f, 0.25f};
    row.floats = floats;
    EXPECT_TRUE(EncodeRow(row, &key, &value).ok());
  }
  std::vector<float> floats = {1.0f, -2.0f, 0.5f, 0.0f};
  SavedRow row;
  std::string key, value;
};

// The bytes of README.md, "A saved shard". Checkpoints hold them: another layout is another format version.
TEST(ShardFormatTest, RowsAreTheAgreedBytes) {
  const EncodedRow encoded;
  EXPECT_EQ(absl::BytesToHexString(encoded.key), "01" "0015" "0123456789abcdef");
  EXPECT_EQ(absl::BytesToHexString(encoded.value),
            "0500000000000000" "0700000000000000" "03000000" "0000c03f" "0000803e"
            "0000803f" "000000c0" "0000003f" "00000000" "68d7eb90");
}

TEST(ShardFormatTest, ARowComesBackAsItWas) {
  const EncodedRow encoded;
  std::vector<float> floats;
  SavedRow row;
  ASSERT_TRUE(DecodeRow(encoded.key, encoded.value, &floats, &row).ok());
  EXPECT_EQ(row.id, encoded.row.id);
  EXPECT_EQ(row.header.lsn, 5u);
  EXPECT_EQ(row.header.last_step, 7u);
  EXPECT_EQ(row.header.period, 3u);
  EXPECT_EQ(row.header.show, 1.5f);
  EXPECT_EQ(row.header.click, 0.25f);
  EXPECT_EQ(floats, encoded.floats);
}

TEST(ShardFormatTest, EveryFlippedBitIsFound) {
  const EncodedRow encoded;
  std::vector<float> floats;
  SavedRow row;
  for (size_t bit = 0; bit < encoded.value.size() * 8; ++bit) {
    std::string value = encoded.value;
    value[bit / 8] = static_cast<char>(value[bit / 8] ^ (1 << bit % 8));
    const absl::Status status = DecodeRow(encoded.key, value, &floats, &row);
    ASSERT_EQ(status.code(), absl::StatusCode::kDataLoss) << "bit " << bit;
  }
  for (size_t bytes = 0; bytes < encoded.value.size(); ++bytes) {
    ASSERT_FALSE(DecodeRow(encoded.key, encoded.value.substr(0, bytes), &floats, &row).ok()) << bytes << " bytes";
  }
}

TEST(ShardFormatTest, AValueUnderAnotherKeyIsFound) {
  const EncodedRow encoded;
  std::vector<float> floats;
  SavedRow row;
  EXPECT_THAT(std::string(DecodeRow(RowKey(77), encoded.value, &floats, &row).message()), HasSubstr("row 77: checksum"));
  std::string key = encoded.key;
  key[2] = 3;
  EXPECT_THAT(std::string(DecodeRow(key, encoded.value, &floats, &row).message()), HasSubstr("is stored under partition 3, not 21"));
  EXPECT_EQ(DecodeRow("x", encoded.value, &floats, &row).code(), absl::StatusCode::kDataLoss);
}

TEST(ShardFormatTest, NothingThatIsNotFiniteIsEncoded) {
  SavedRow row;
  const std::vector<float> floats = {1, std::nanf(""), 2};
  row.id = 9;
  row.floats = floats;
  std::string key, value;
  const absl::Status status = EncodeRow(row, &key, &value);
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("row 9 holds nan at float 1"));
}

TEST(ShardFormatTest, AChunkComesBackAsItWas) {
  const std::vector<float> floats = {1, 2, 3, 4, 5, 6};
  SavedChunk chunk;
  chunk.variable = 2;
  chunk.number = 1;
  chunk.partition = 97;
  chunk.lsn = 11;
  chunk.last_step = 10;
  chunk.size = 3;
  chunk.floats = floats;
  std::string key, value;
  ASSERT_TRUE(EncodeChunk(chunk, &key, &value).ok());
  EXPECT_EQ(absl::BytesToHexString(key), "02" "0061" "0000000200000001");
  EXPECT_EQ(value.size(), 20 + 6 * 4 + 4u);
  std::vector<float> back_floats;
  SavedChunk back;
  ASSERT_TRUE(DecodeChunk(key, value, &back_floats, &back).ok());
  EXPECT_EQ(back.variable, 2u);
  EXPECT_EQ(back.number, 1u);
  EXPECT_EQ(back.partition, 97u);
  EXPECT_EQ(back.lsn, 11u);
  EXPECT_EQ(back.last_step, 10u);
  EXPECT_EQ(back.size, 3u);
  EXPECT_EQ(back_floats, floats);
  value[25] ^= 1;
  EXPECT_THAT(std::string(DecodeChunk(key, value, &back_floats, &back).message()), HasSubstr("chunk 1 of variable 2: checksum"));
}

TEST(ShardFormatTest, ARecordComesBackAndAnotherVersionIsRefused) {
  ShardRecord record;
  record.set_step(3);
  record.set_lsn(9);
  record.mutable_opened()->mutable_peer()->set_job("j");
  std::string value = EncodeRecord(record);
  ShardRecord back;
  ASSERT_TRUE(DecodeRecord(value, &back).ok());
  EXPECT_EQ(back.SerializeAsString(), record.SerializeAsString());
  std::string damaged = value;
  damaged[6] ^= 1;
  EXPECT_EQ(DecodeRecord(damaged, &back).code(), absl::StatusCode::kDataLoss);
  value[0] = 3;
  EXPECT_THAT(std::string(DecodeRecord(value, &back).message()), HasSubstr("shard format 3 is not known"));
  EXPECT_EQ(DecodeRecord("", &back).code(), absl::StatusCode::kDataLoss);
}

TEST(ShardFormatTest, SummariesAndSightingsComeBackAndDamageIsFound) {
  PartitionSummary summary;
  std::string value = EncodeSummary(7, {1, 2, 3});
  ASSERT_TRUE(DecodeSummary(7, value, &summary).ok());
  EXPECT_EQ(summary.rows, 1u);
  EXPECT_EQ(summary.digest, 2u);
  EXPECT_EQ(summary.lsn, 3u);
  EXPECT_EQ(DecodeSummary(8, value, &summary).code(), absl::StatusCode::kDataLoss) << "under another partition's key";
  value[0] ^= 1;
  EXPECT_EQ(DecodeSummary(7, value, &summary).code(), absl::StatusCode::kDataLoss);
  value = EncodeSightings(7, "counters");
  EXPECT_EQ(DecodeSightings(7, value).value(), "counters");
  value[3] ^= 1;
  EXPECT_EQ(DecodeSightings(7, value).status().code(), absl::StatusCode::kDataLoss);
}

TEST(ShardFormatTest, KeysSortByKindPartitionAndId) {
  EXPECT_LT(MetaKey(), KeyBound(RecordKind::kRow, 0));
  EXPECT_LT(KeyBound(RecordKind::kRow, 3), KeyBound(RecordKind::kRow, 4));
  EXPECT_LT(KeyBound(RecordKind::kRow, kPartitions), KeyBound(RecordKind::kChunk, 0));
  for (uint64_t id : {0ull, 1ull, 1ull << 63, ~0ull}) {
    EXPECT_LE(KeyBound(RecordKind::kRow, PartitionOf(id)), RowKey(id));
    EXPECT_LT(RowKey(id), KeyBound(RecordKind::kRow, PartitionOf(id) + 1));
  }
}

}  // namespace
}  // namespace tessera
