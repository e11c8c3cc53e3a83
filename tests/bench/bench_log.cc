// bench_log [FOLDER [PAIRS]]: the push log, against writing the same bytes into one file and against RocksDB's log.
#include <fcntl.h>
#include <unistd.h>

#include <cstring>

#include "common/heap.h"
#include "ps/durability/push_log.h"
#include "tests/bench/bench_rows.h"
#include "tests/bench/raw_rocksdb.h"
#include <rocksdb/write_batch.h>

namespace tessera {
namespace {

// What a log holds before it is dropped; the file written by hand is as large.
constexpr uint64_t kHeldBytes = 256u << 20;
// Of one run.
constexpr uint64_t kRunBytes = 96u << 20;
constexpr int kSyncs = 16;

absl::Status Ignore(const LogRecord&) { return absl::OkStatus(); }

class OurLog {
 public:
  OurLog(const std::string& folder, bool power) {
    log_ = Check(PushLog::Open({.folder = folder, .bytes_max = 2 * kHeldBytes, .power = power}, 1, 1, Ignore));
  }
  void Append(absl::string_view body) {
    const uint64_t lsn = Check(log_->Append(LogKind::kPush, {&body, 1}));
    Check(log_->WaitDurable(lsn, absl::Seconds(60)));
    const uint64_t held = kHeldBytes / body.size();
    if (lsn > held) Check(log_->Drop(lsn - held));
  }

 private:
  std::unique_ptr<PushLog> log_;
};

class OneFile {
 public:
  OneFile(const std::string& path, bool sync) : fd_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)), sync_(sync) {
    if (fd_ < 0 || posix_fallocate(fd_, 0, kHeldBytes) != 0) Check(absl::InternalError("no room for " + path));
  }
  ~OneFile() { close(fd_); }
  void Append(absl::string_view body) {
    if (at_ + body.size() > kHeldBytes) at_ = 0;
    const ssize_t written = pwrite(fd_, body.data(), body.size(), static_cast<off_t>(at_));
    if (written != static_cast<ssize_t>(body.size()) || (sync_ && fdatasync(fd_) != 0)) Check(absl::InternalError("cannot write"));
    at_ += body.size();
  }

 private:
  const int fd_;
  const bool sync_;
  uint64_t at_ = 0;
};

// Its log files are used again, too; they end when a memory table is written out, which is asked for here.
class RocksLog {
 public:
  explicit RocksLog(const std::string& folder) {
    rocksdb::Options options = RawOptions(64u << 20);
    options.recycle_log_file_num = 8;
    db_ = OpenRaw(options, folder);
  }
  void Append(absl::string_view body) {
    rocksdb::WriteBatch batch;
    CheckRocks(batch.PutLogData(rocksdb::Slice(body.data(), body.size())));
    CheckRocks(db_->Write(rocksdb::WriteOptions(), &batch));
    written_ += body.size();
    if (written_ < (64u << 20)) return;
    written_ = 0;
    CheckRocks(db_->Put(rocksdb::WriteOptions(), "k", "v"));
    CheckRocks(db_->Flush(rocksdb::FlushOptions()));
  }

 private:
  std::unique_ptr<rocksdb::DB> db_;
  uint64_t written_ = 0;
};

template <class Log>
void Fill(Log* log, absl::string_view body, uint64_t bytes) {
  for (uint64_t i = 0; i < bytes / body.size(); ++i) log->Append(body);
}

void CompareAppends(const BenchFolder& folder, size_t body_bytes, int pairs) {
  std::string body(body_bytes, '\0');
  for (size_t i = 0; i < body_bytes; ++i) body[i] = static_cast<char>(Mix64(i));
  const std::string size = absl::StrFormat("%.1f MB records: ", static_cast<double>(body_bytes) * 1e-6);
  OurLog ours(folder / absl::StrCat("ours", body_bytes), false);
  OneFile file(folder / absl::StrCat("file", body_bytes), false);
  RocksLog rocks(folder / absl::StrCat("rocks", body_bytes));
  const double gigabytes = static_cast<double>(kRunBytes / body_bytes * body_bytes) * 1e-9;
  const auto run = [&](auto* log) { return [&body, log](int) { Fill(log, body, kRunBytes); }; };
  // All files are there and are used again from here on.
  Fill(&ours, body, 3 * kHeldBytes);
  Fill(&file, body, kHeldBytes);
  Fill(&rocks, body, 2 * kHeldBytes);
  Compare(size + "Append, raw pwrite", gigabytes, "GB", pairs, run(&ours), run(&file));
  Compare(size + "Append, raw RocksDB's log", gigabytes, "GB", pairs, run(&ours), run(&rocks));

  OurLog safe(folder / absl::StrCat("safe", body_bytes), true);
  OneFile synced(folder / absl::StrCat("synced", body_bytes), true);
  Fill(&safe, body, kHeldBytes * 3 / 2);
  Fill(&synced, body, kHeldBytes);
  const auto sync = [&](auto* log) { return [&body, log](int) { Fill(log, body, kSyncs * body.size()); }; };
  Compare(size + "Append + WaitDurable, raw pwrite + fdatasync", kSyncs, "records", pairs, sync(&safe), sync(&synced));
}

void CompareScan(const BenchFolder& folder, int pairs) {
  const std::string body(1600000, 'x');
  {
    OurLog log(folder / "scanned", false);
    Fill(&log, body, kHeldBytes);
  }
  std::vector<char> buffer(1u << 20);
  uint64_t bytes = 0;
  const auto scan = [&](int) { Check(PushLog::Scan({.folder = folder / "scanned"}, 1, Ignore)); };
  const auto read = [&](int) {
    bytes = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder / "scanned")) {
      const int fd = open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
      for (ssize_t got = 0; (got = ::read(fd, buffer.data(), buffer.size())) > 0;) bytes += static_cast<uint64_t>(got);
      close(fd);
    }
  };
  read(0);
  Compare("Scan of cached files, raw read into one buffer", static_cast<double>(bytes) * 1e-9, "GB", pairs, scan, read);
}

int Main(int argc, char** argv) {
  const BenchFolder folder(argc > 1 ? argv[1] : std::filesystem::temp_directory_path().string());
  const int pairs = argc > 2 ? std::atoi(argv[2]) : 9;
  CompareScan(folder, pairs);
  for (size_t bytes : {size_t{1600000}, size_t{4000000}}) CompareAppends(folder, bytes, pairs);
  return 0;
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  tessera::KeepFreedMemory();  // as the server does
  return tessera::Main(argc, argv);
}
