#include "ps/table/state_db.h"

#include <array>
#include <cassert>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/fault_point.h"
#include "common/mutex.h"
#include "common/status_macros.h"
#include "ps/table/rocksdb_options.h"
#include "ps/table/rocksdb_resumption.h"
#include "ps/table/shard_folder.h"
#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/utilities/checkpoint.h>
#include <rocksdb/write_batch.h>

namespace tessera {
namespace {

namespace fs = std::filesystem;

// Keys that MultiGet looks up at a time: the blocks that hold their values are held in memory together, about 1 MB.
constexpr size_t kKeysAtATime = 256;
// Within this a flush is done, or it is an error.
constexpr absl::Duration kFlushPatience = absl::Minutes(1);

absl::Status StatusOf(const rocksdb::Status& status, absl::string_view what) {
  if (status.ok()) return absl::OkStatus();
  const std::string message = absl::StrCat(what, ": ", status.ToString());
  if (status.IsNotFound()) return absl::NotFoundError(message);
  if (status.IsCorruption() || status.IsPathNotFound()) return absl::DataLossError(message);
  if (status.IsNoSpace()) return absl::ResourceExhaustedError(message + "; make room on that disk");
  return absl::InternalError(message);
}

rocksdb::Slice SliceOf(absl::string_view text) { return {text.data(), text.size()}; }
absl::string_view ViewOf(const rocksdb::Slice& slice) { return absl::string_view(slice.data(), slice.size()); }

// A process that dies while it empties the folder must not leave half a database that looks like a whole one: CURRENT, without which
// there is none, goes first, under the lock that a running server holds.
rocksdb::Status Empty(const std::string& folder, const rocksdb::Options& options) {
  rocksdb::FileLock* lock = nullptr;
  rocksdb::Status status = options.env->LockFile(folder + "/LOCK", &lock);
  if (!status.ok()) return status;
  std::error_code error;
  fs::remove(fs::path(folder) / "CURRENT", error);
  status = options.env->UnlockFile(lock);
  if (error) return rocksdb::Status::IOError(folder + "/CURRENT", error.message());
  return status.ok() ? rocksdb::DestroyDB(folder, options) : status;
}

}  // namespace

class StateDb::Batch::Impl {
 public:
  rocksdb::WriteBatch batch;
};

StateDb::Batch::Batch() : impl_(std::make_unique<Impl>()) {}
StateDb::Batch::~Batch() = default;
// A rocksdb::WriteBatch refuses a change only beyond 4 GB or with a limit of its own.
void StateDb::Batch::Put(absl::string_view key, absl::string_view value) { impl_->batch.Put(SliceOf(key), SliceOf(value)); }
void StateDb::Batch::Delete(absl::string_view key) { impl_->batch.Delete(SliceOf(key)); }
size_t StateDb::Batch::bytes() const { return impl_->batch.GetDataSize(); }
void StateDb::Batch::Clear() { impl_->batch.Clear(); }

class StateDb::Impl {
 public:
  absl::Status Read(const rocksdb::Status& status) const { return StatusOf(status, absl::StrCat("cannot read ", folder)); }
  absl::Status Written(const rocksdb::Status& status) const { return StatusOf(status, absl::StrCat("cannot write to ", folder)); }

  std::string folder;
  std::shared_ptr<rocksdb::Cache> cache;
  std::shared_ptr<StopListener> listener = std::make_shared<StopListener>();
  std::unique_ptr<rocksdb::DB> db;
  std::unique_ptr<Resumption> resumption;  // goes before the database; null where nothing is written
  std::atomic<bool> verified{false};       // what was there when it was opened

  Mutex mutex;
  std::map<std::string, std::string> checksums ABSL_GUARDED_BY(mutex);  // of the table files of the last checkpoint
};

StateDb::StateDb(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
StateDb::~StateDb() = default;

absl::StatusOr<std::unique_ptr<StateDb>> StateDb::OpenWritable(const std::string& folder, const StateDbOptions& options, bool create) {
  auto impl = std::make_unique<Impl>();
  impl->folder = folder;
  impl->cache = MakeCache(options.memory_bytes);
  rocksdb::Options opened = MakeDbOptions(options.memory_bytes, impl->cache);
  opened.listeners.push_back(impl->listener);
  opened.create_if_missing = create;
  if (create) {
    TESSERA_RETURN_IF_ERROR(StatusOf(Empty(folder, opened), absl::StrCat("cannot empty ", folder, ", where this server keeps its state")));
  }
  rocksdb::DB* db = nullptr;
  TESSERA_RETURN_IF_ERROR(
      StatusOf(rocksdb::DB::Open(opened, folder, &db), absl::StrCat("cannot open ", folder, ", where this server keeps its state")));
  impl->db.reset(db);
  impl->verified = create;
  impl->listener->SetFlushed(db->GetLatestSequenceNumber());
  impl->resumption = std::make_unique<Resumption>(db, impl->listener, folder, options.memory_bytes / 2);
  return std::unique_ptr<StateDb>(new StateDb(std::move(impl)));
}

absl::StatusOr<std::unique_ptr<StateDb>> StateDb::Create(const std::string& folder, const StateDbOptions& options) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return absl::InternalError(absl::StrCat("cannot create ", folder, ": ", error.message()));
  return OpenWritable(folder, options, true);
}

absl::StatusOr<std::unique_ptr<StateDb>> StateDb::Open(const std::string& folder, const StateDbOptions& options) {
  std::error_code error;
  if (!fs::exists(fs::path(folder) / "CURRENT", error)) {
    return absl::NotFoundError(absl::StrCat(folder, " holds no state of a server: ", ContentsOf(folder)));
  }
  return OpenWritable(folder, options, false);
}

absl::StatusOr<std::unique_ptr<StateDb>> StateDb::OpenForReading(const std::string& folder) {
  std::error_code error;
  if (!fs::exists(fs::path(folder) / "CURRENT", error)) {
    return absl::NotFoundError(absl::StrCat(folder, " is no saved shard: ", ContentsOf(folder)));
  }
  auto impl = std::make_unique<Impl>();
  impl->folder = folder;
  impl->cache = MakeCache(StateDbOptions().memory_bytes);
  rocksdb::DB* db = nullptr;
  TESSERA_RETURN_IF_ERROR(StatusOf(rocksdb::DB::OpenForReadOnly(MakeDbOptions(StateDbOptions().memory_bytes, impl->cache), folder, &db),
                                   absl::StrCat("cannot read ", folder, " (", ContentsOf(folder), ")")));
  impl->db.reset(db);
  return std::unique_ptr<StateDb>(new StateDb(std::move(impl)));
}

absl::Status StateDb::Write(Batch* batch) {
  FaultPoint("db.write");
  rocksdb::WriteOptions options;
  options.disableWAL = true;
  return impl_->Written(impl_->resumption->Try([&] { return impl_->db->Write(options, &batch->impl_->batch); }));
}

absl::Status StateDb::Flush() {
  rocksdb::FlushOptions options;
  options.allow_write_stall = true;  // else it would wait for a compaction first
  // After it has resumed, RocksDB 7.8 may say that it has flushed while that still goes on: what its files hold is asked instead.
  const uint64_t written = impl_->db->GetLatestSequenceNumber();
  TESSERA_RETURN_IF_ERROR(impl_->Written(impl_->resumption->Try([&] { return impl_->db->Flush(options); })));
  if (impl_->listener->WaitFlushed(written, kFlushPatience)) return absl::OkStatus();
  if (impl_->listener->stopped()) {
    TESSERA_RETURN_IF_ERROR(impl_->Written(impl_->resumption->Try([&] { return impl_->db->Flush(options); })));
  }
  if (impl_->listener->WaitFlushed(written, kFlushPatience)) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("cannot write to ", impl_->folder, ": not flushed within ", absl::FormatDuration(kFlushPatience)));
}

absl::StatusOr<std::vector<SavedFile>> StateDb::Checkpoint(const std::string& directory) {
  TESSERA_RETURN_IF_ERROR(Flush());
  const MutexLock lock(&impl_->mutex);
  // Else a damaged file would be linked and summed as it is, and the sound checkpoints before this one removed in time.
  if (!impl_->verified) TESSERA_RETURN_IF_ERROR(Verify());
  impl_->verified = true;
  TESSERA_RETURN_IF_ERROR(ClearShardFolder(directory));
  rocksdb::Checkpoint* checkpoint = nullptr;
  TESSERA_RETURN_IF_ERROR(StatusOf(rocksdb::Checkpoint::Create(impl_->db.get(), &checkpoint), absl::StrCat("cannot save ", impl_->folder)));
  const std::unique_ptr<rocksdb::Checkpoint> owner(checkpoint);
  TESSERA_RETURN_IF_ERROR(StatusOf(checkpoint->CreateCheckpoint(directory), absl::StrCat("cannot save into ", directory)));
  return DescribeShardFolder(directory, &impl_->checksums);
}

absl::StatusOr<std::string> StateDb::Get(absl::string_view key) const {
  std::string value;
  TESSERA_RETURN_IF_ERROR(impl_->Read(impl_->db->Get(rocksdb::ReadOptions(), SliceOf(key), &value)));
  return value;
}

absl::Status StateDb::MultiGet(const char* keys, size_t key_bytes, size_t count,
                               absl::FunctionRef<absl::Status(size_t, absl::string_view)> found, size_t* failed) const {
  std::array<rocksdb::Slice, kKeysAtATime> slices;
  std::array<rocksdb::PinnableSlice, kKeysAtATime> values;
  std::array<rocksdb::Status, kKeysAtATime> statuses;
  for (size_t begin = 0; begin < count; begin += kKeysAtATime) {
    const size_t size = std::min(kKeysAtATime, count - begin);
    for (size_t i = 0; i < size; ++i) slices[i] = rocksdb::Slice(keys + (begin + i) * key_bytes, key_bytes);
    impl_->db->MultiGet(rocksdb::ReadOptions(), impl_->db->DefaultColumnFamily(), size, slices.data(), values.data(), statuses.data(),
                        /*sorted_input=*/true);
    for (size_t i = 0; i < size; ++i) {
      if (statuses[i].IsNotFound()) continue;
      if (failed != nullptr) *failed = begin + i;
      if (!statuses[i].ok()) return impl_->Read(statuses[i]);
      TESSERA_RETURN_IF_ERROR(found(begin + i, ViewOf(values[i])));
      values[i].Reset();
    }
  }
  return absl::OkStatus();
}

absl::Status StateDb::ForEach(absl::string_view begin, absl::string_view end,
                              absl::FunctionRef<absl::Status(absl::string_view, absl::string_view)> body) const {
  const rocksdb::Slice bound = SliceOf(end);
  rocksdb::ReadOptions options;
  options.iterate_upper_bound = &bound;
  // No readahead_size: it would be read for every small partition. What is read on end is read ahead by itself, further and further.
  options.fill_cache = false;
  const std::unique_ptr<rocksdb::Iterator> it(impl_->db->NewIterator(options));
  for (it->Seek(SliceOf(begin)); it->Valid(); it->Next()) TESSERA_RETURN_IF_ERROR(body(ViewOf(it->key()), ViewOf(it->value())));
  return impl_->Read(it->status());
}

absl::Status StateDb::Verify() const { return impl_->Read(impl_->db->VerifyChecksum(rocksdb::ReadOptions())); }

const std::string& StateDb::folder() const { return impl_->folder; }

uint64_t StateDb::disk_bytes() const {
  uint64_t bytes = 0;
  impl_->db->GetIntProperty(rocksdb::DB::Properties::kTotalSstFilesSize, &bytes);
  return bytes;
}

uint64_t StateDb::memory_bytes() const { return impl_->cache->GetUsage(); }

}  // namespace tessera
