// gz and zst: told by content, read whole, never silently short.
#include <thread>

#include "common/random.h"
#include "tests/unit/data/test_input.h"
#include "worker/data/byte_source.h"

namespace tessera {
namespace {

std::string Lines(int begin, int end) {
  std::string text;
  for (int i = begin; i < end; ++i) text += std::to_string(i % 2) + " " + std::to_string(i) + ":1 " + std::to_string(i * 7919 % 1000) + ":0.5\n";
  return text;
}

Plan PairPlan() {
  Plan plan = LibsvmPlan({500, 1000});
  plan.mutable_job()->mutable_data()->mutable_block_bytes()->set_bytes(333);
  return plan;
}

struct Compression {
  const char* name;
  Codec codec;
  std::string (*compress)(std::string_view);
};
const Compression kCompressions[] = {{"gzip", gzip, Gzip}, {"zstd", zstd, Zstd}};

TEST(CompressedTest, CodecIsToldByContentNotByName) {
  TestFolder folder;
  for (const Compression& c : kCompressions) {
    const std::string text = Lines(0, 100);
    const absl::StatusOr<InputFile> file = DescribeFile(folder.Write("rows.txt", c.compress(text)));
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_EQ(file->codec(), c.codec);
    EXPECT_EQ(file->plain_bytes(), text.size());
    EXPECT_EQ(file->stored_bytes(), c.compress(text).size());
  }
  EXPECT_EQ(DescribeFile(folder.Write("rows.gz", "1 2:3\n"))->codec(), plain);
  EXPECT_EQ(DescribeFile(folder.Write("rows.zst", ""))->plain_bytes(), 0u);
}

TEST(CompressedTest, ConcatenatedFilesGiveAllRows) {
  TestFolder folder;
  const absl::StatusOr<Rows> plain_rows = ReadAll(PairPlan(), {folder.Write("plain", Lines(0, 300))});
  ASSERT_TRUE(plain_rows.ok());
  for (const Compression& c : kCompressions) {
    // The second part begins inside a row.
    const std::string text = Lines(0, 300);
    const std::string joined = c.compress(text.substr(0, 1001)) + c.compress("") + c.compress(text.substr(1001));
    const absl::StatusOr<Rows> rows = ReadAll(PairPlan(), {folder.Write("joined", joined)});
    ASSERT_TRUE(rows.ok()) << rows.status();
    EXPECT_EQ(rows->ids, plain_rows->ids);
    EXPECT_EQ(rows->keys, plain_rows->keys);
  }
}

TEST(CompressedTest, ZeroPaddingBehindGzipIsNoData) {
  TestFolder folder;
  const absl::StatusOr<InputFile> file = DescribeFile(folder.Write("padded", Gzip("1 2:3\n") + std::string(1000, '\0')));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->plain_bytes(), 6u);
}

TEST(CompressedTest, AFileCutAnywhereIsAnErrorThatNamesIt) {
  TestFolder folder;
  for (const Compression& c : kCompressions) {
    const std::string whole = c.compress(Lines(0, 20));
    for (size_t length = c.codec == zstd ? 2 : 1; length < whole.size(); ++length) {
      const std::string path = folder.Write("cut", whole.substr(0, length));
      const absl::Status status = DescribeFile(path).status();
      ASSERT_EQ(status.code(), absl::StatusCode::kDataLoss) << c.name << " cut at " << length << ": " << status;
      EXPECT_NE(status.message().find(path + ": ends early: its " + c.name + " data is cut off at stored byte " + std::to_string(length)),
                std::string::npos)
          << status;
    }
  }
}

TEST(CompressedTest, ADamagedFileIsAnError) {
  TestFolder folder;
  for (const Compression& c : kCompressions) {
    const std::string whole = c.compress(Lines(0, 200));
    int errors = 0;
    for (size_t at = whole.size() / 2; at < whole.size(); at += 17) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x41);
      const absl::Status status = DescribeFile(folder.Write("damaged", damaged)).status();
      EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << c.name << " at " << at;
      errors += status.message().find("is damaged near stored byte") != std::string::npos;
    }
    EXPECT_GT(errors, 0);
    const absl::Status garbage = DescribeFile(folder.Write("garbage", whole + "what is this?")).status();
    EXPECT_EQ(garbage.code(), absl::StatusCode::kDataLoss);
  }
}

TEST(CompressedTest, AFileCutAfterItWasDescribedStopsTheRead) {
  TestFolder folder;
  for (const Compression& c : kCompressions) {
    const std::string whole = c.compress(Lines(0, 300));
    const std::string path = folder.Write("rows", whole);
    google::protobuf::RepeatedPtrField<InputFile> files;
    *files.Add() = *DescribeFile(path);
    const auto input = Input::Open(PairPlan(), files, {});
    ASSERT_TRUE(input.ok()) << input.status();
    folder.Write("rows", whole.substr(0, whole.size() - 9));
    Rows rows;
    const absl::Status status = (*input)->ReadBlock((*input)->block_count() - 1, &rows);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_NE(status.message().find(path), std::string::npos) << status;
    EXPECT_EQ(rows.size(), 0u);
  }
}

// The way of large files: nothing is kept, decoders go forward and start again.
TEST(CompressedTest, StreamedSourcesReadAnywhere) {
  TestFolder folder;
  const std::string text = Lines(0, 20000);
  for (const Compression& c : kCompressions) {
    const InputFile file = *DescribeFile(folder.Write("rows", c.compress(text.substr(0, 77777)) + c.compress(text.substr(77777))));
    uint64_t kept_bytes = file.plain_bytes() - 1;
    const std::unique_ptr<ByteSource> source = OpenByteSource(file, &kept_bytes);
    EXPECT_EQ(kept_bytes, file.plain_bytes() - 1);
    const auto read_some = [&](uint64_t seed) {
      RandomSequence random(seed);
      for (int i = 0; i < 60; ++i) {
        const uint64_t offset = random.Below(text.size() + 10);
        std::string bytes(1 + random.Below(5000), '\0');
        const absl::StatusOr<size_t> count = source->ReadAt(offset, bytes.data(), bytes.size());
        ASSERT_TRUE(count.ok()) << count.status();
        bytes.resize(*count);
        EXPECT_EQ(bytes, offset >= text.size() ? "" : text.substr(offset, std::max<size_t>(*count, 1)));
        EXPECT_TRUE(*count > 0 || offset >= text.size());
      }
    };
    std::thread other(read_some, 1);
    read_some(2);
    other.join();
  }
}

TEST(CompressedTest, KeptSourcesStayWithinTheirBudget) {
  TestFolder folder;
  const InputFile file = *DescribeFile(folder.Write("rows", Gzip(Lines(0, 100))));
  uint64_t kept_bytes = file.plain_bytes() + 5;
  const std::unique_ptr<ByteSource> kept = OpenByteSource(file, &kept_bytes);
  EXPECT_EQ(kept_bytes, 5u);
  const std::unique_ptr<ByteSource> streamed = OpenByteSource(file, &kept_bytes);
  EXPECT_EQ(kept_bytes, 5u);
  std::string a(100, '\0');
  std::string b(100, '\0');
  EXPECT_EQ(kept->ReadAt(300, a.data(), 100).value(), 100u);
  EXPECT_EQ(streamed->ReadAt(300, b.data(), 100).value(), 100u);
  EXPECT_EQ(a, b);
}

TEST(CompressedTest, BlocksMayBeReadFromSeveralThreads) {
  TestFolder folder;
  const std::string path = folder.Write("rows", Zstd(Lines(0, 3000)));
  Plan plan = PairPlan();
  const auto input = OpenInput(plan, {path, folder.Write("plain", Lines(0, 500))});
  ASSERT_TRUE(input.ok());
  std::vector<Rows> parts(3);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < parts.size(); ++t) {
    threads.emplace_back([&, t] {
      for (uint64_t block = t; block < (*input)->block_count(); block += parts.size()) {
        ASSERT_TRUE((*input)->ReadBlock(block, &parts[t]).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(parts[0].size() + parts[1].size() + parts[2].size(), 3500u);
}

TEST(DescribeFileTest, TheFingerprintTellsChangedFiles) {
  TestFolder folder;
  const std::string text = Lines(0, 20000);
  const std::string before = DescribeFile(folder.Write("rows", text))->fingerprint();
  EXPECT_EQ(before.size(), 32u);
  EXPECT_EQ(DescribeFile(folder.Write("same", text))->fingerprint(), before);
  for (const size_t at : {size_t{0}, size_t{65535}, text.size() - 1}) {
    std::string changed = text;
    changed[at] ^= 1;
    EXPECT_NE(DescribeFile(folder.Write("rows", changed))->fingerprint(), before);
  }
  EXPECT_NE(DescribeFile(folder.Write("rows", text + "\n"))->fingerprint(), before);
}

TEST(DescribeFileTest, WhatIsNoFileIsAnError) {
  TestFolder folder;
  const absl::Status absent = DescribeFile(folder.Path("absent")).status();
  EXPECT_EQ(absent.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(absent.message(), folder.Path("absent") + ": No such file or directory");
  folder.Write("sub/file", "");
  EXPECT_EQ(DescribeFile(folder.Path("sub")).status().message(), folder.Path("sub") + ": is not a regular file");
}

}  // namespace
}  // namespace tessera
