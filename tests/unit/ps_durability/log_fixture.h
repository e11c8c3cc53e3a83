// A log in a folder of its own, and its files byte by byte, as ps/durability/README.md describes them.
#pragma once

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/fault_point.h"
#include "common/random.h"
#include "ps/durability/push_log.h"

namespace tessera {

inline constexpr size_t kSegmentHeaderBytes = 40;
inline constexpr size_t kRecordHeaderBytes = 40;

// A record as it was appended, or as it was read back.
struct Logged {
  LogKind kind;
  uint64_t lsn;
  std::string body;
  bool operator==(const Logged& other) const { return kind == other.kind && lsn == other.lsn && body == other.body; }
};

// Where a record stands.
struct Place {
  uint64_t lsn = 0;
  std::string path;
  size_t begin = 0;
  size_t end = 0;  // without padding
};

inline LogKind KindOf(uint64_t lsn) { return static_cast<LogKind>(1 + lsn % 6); }
inline std::string BodyOf(uint64_t lsn, size_t bytes) {
  std::string body(bytes, '\0');
  for (size_t i = 0; i < bytes; ++i) body[i] = static_cast<char>(MixKey(lsn, i));
  return body;
}

inline std::string ReadBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}
inline void WriteBytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}
// Every file below a folder, with its bytes.
inline std::map<std::string, std::string> Snapshot(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files[entry.path().filename()] = ReadBytes(entry.path());
  return files;
}

// While it lives, no file grows beyond `bytes` by this process.
class WriteLimit {
 public:
  explicit WriteLimit(uint64_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit = {bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~WriteLimit() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_ = {};
};

class LogTest : public ::testing::Test {
 protected:
  LogTest() {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    std::string name = absl::StrCat("tessera_log_", info->name(), "_", ::getpid());
    std::replace(name.begin(), name.end(), '/', '_');
    root_ = (std::filesystem::temp_directory_path() / name).string();
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_);
    options_.folder = root_ + "/log";
    options_.owner = "job 1";
    options_.bytes_max = 1u << 20;
    options_.segment_bytes = 1000;
  }
  ~LogTest() override {
    SetFaultPoint({});
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }

  // Opens, and keeps what is replayed in replayed_.
  absl::Status Open(uint64_t first_lsn = 1, uint64_t next_lsn_min = 1) {
    log_.reset();
    replayed_.clear();
    absl::StatusOr<std::unique_ptr<PushLog>> log = PushLog::Open(options_, first_lsn, next_lsn_min, Keep());
    if (!log.ok()) return log.status();
    log_ = *std::move(log);
    return absl::OkStatus();
  }
  absl::Status Scan(uint64_t first_lsn = 1) {
    replayed_.clear();
    return PushLog::Scan(options_, first_lsn, Keep());
  }

  absl::Status Append(size_t bytes) {
    const uint64_t lsn = log_->next_lsn();
    const std::string body = BodyOf(lsn, bytes);
    const absl::string_view pieces[] = {absl::string_view(body).substr(0, bytes / 3), absl::string_view(body).substr(bytes / 3)};
    absl::StatusOr<uint64_t> got = log_->Append(KindOf(lsn), pieces);
    if (!got.ok()) return got.status();
    EXPECT_EQ(*got, lsn);
    appended_.push_back({KindOf(lsn), lsn, body});
    return absl::OkStatus();
  }
  void AppendMany(int count, size_t bytes = 100) {
    for (int i = 0; i < count; ++i) {
      const absl::Status status = Append(bytes + static_cast<size_t>(i) % 9);
      ASSERT_TRUE(status.ok()) << status;
    }
  }
  // What was appended, from one record to another.
  std::vector<Logged> Appended(uint64_t first, uint64_t last) const {
    std::vector<Logged> records;
    for (const Logged& record : appended_) {
      if (record.lsn >= first && record.lsn <= last) records.push_back(record);
    }
    return records;
  }

  // The segments' files, in order.
  std::vector<std::string> Segments() const {
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::directory_iterator(options_.folder)) {
      if (entry.path().extension() == ".log") paths.push_back(entry.path());
    }
    std::sort(paths.begin(), paths.end());
    return paths;
  }
  std::string PathOf(uint64_t number) const { return absl::StrFormat("%s/%016x.log", options_.folder, number); }
  // All records, by their headers.
  std::vector<Place> Places() const {
    std::vector<Place> places;
    for (const std::string& path : Segments()) {
      const std::string bytes = ReadBytes(path);
      size_t at = kSegmentHeaderBytes;
      while (at + kRecordHeaderBytes <= bytes.size() && bytes.compare(at, 4, "TREC") == 0) {
        uint64_t lsn = 0, body = 0;
        std::memcpy(&lsn, bytes.data() + at + 8, 8);
        std::memcpy(&body, bytes.data() + at + 24, 8);
        places.push_back({lsn, path, at, at + kRecordHeaderBytes + body});
        at = (places.back().end + 7) / 8 * 8;
      }
    }
    return places;
  }

  std::string root_;
  PushLogOptions options_;
  std::unique_ptr<PushLog> log_;
  std::vector<Logged> appended_;
  std::vector<Logged> replayed_;

 private:
  std::function<absl::Status(const LogRecord&)> Keep() {
    return [this](const LogRecord& record) {
      EXPECT_EQ(reinterpret_cast<uintptr_t>(record.body.data()) % 8, 0u);
      replayed_.push_back({record.kind, record.lsn, std::string(record.body.data(), record.body.size())});
      return absl::OkStatus();
    };
  }
};

}  // namespace tessera
