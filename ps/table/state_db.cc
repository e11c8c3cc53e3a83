#include "ps/table/state_db.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/status_macros.h"
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/options.h>
#include <rocksdb/utilities/checkpoint.h>
#include <rocksdb/write_batch.h>
#include <xxhash.h>

namespace tessera {
namespace {

namespace fs = std::filesystem;

// Large enough that a batch's fixed cost vanishes, small enough to stay in cache.
constexpr size_t kBatchBytes = 1u << 20;
constexpr size_t kWriteBufferBytes = 64u << 20;

// RocksDB's own messages would put a file into folders that are only read.
class SilentLog : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char*, va_list) override {}
};

rocksdb::Options MakeOptions() {
  rocksdb::Options options;
  options.compression = rocksdb::kNoCompression;  // floats hardly compress
  options.write_buffer_size = kWriteBufferBytes;
  options.max_open_files = 512;
  options.info_log = std::make_shared<SilentLog>();
  return options;
}

absl::Status StatusOf(const rocksdb::Status& status, absl::string_view what) {
  if (status.ok()) return absl::OkStatus();
  const std::string message = absl::StrCat(what, ": ", status.ToString());
  if (status.IsNotFound()) return absl::NotFoundError(message);
  if (status.IsCorruption()) return absl::DataLossError(message);
  if (status.IsNoSpace()) return absl::ResourceExhaustedError(message);
  return absl::InternalError(message);
}

// The first few names in a folder, for messages.
std::string ContentsOf(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) names.push_back(it->path().filename());
  if (error) return error.message();
  if (names.empty()) return "it is empty";
  std::sort(names.begin(), names.end());
  std::string text = "it holds";
  for (size_t i = 0; i < std::min<size_t>(names.size(), 5); ++i) absl::StrAppend(&text, i == 0 ? " " : ", ", names[i]);
  if (names.size() > 5) absl::StrAppend(&text, " and ", names.size() - 5, " more");
  return text;
}

absl::StatusOr<std::string> ChecksumOfFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> buffer(1u << 20);
  std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(), &XXH3_freeState);
  XXH3_64bits_reset(state.get());
  while (file) {
    file.read(buffer.data(), buffer.size());
    XXH3_64bits_update(state.get(), buffer.data(), file.gcount());
  }
  if (!file.eof()) return absl::InternalError(absl::StrCat("cannot read ", path.string()));
  return absl::StrFormat("%016x", XXH3_64bits_digest(state.get()));
}

// Makes room for a shard's files at `directory`.
absl::Status ClearShardFolder(const std::string& directory) {
  std::error_code error;
  if (!fs::exists(directory, error)) {
    fs::create_directories(fs::path(directory).parent_path(), error);
    if (error) {
      return absl::InternalError(absl::StrCat("cannot create ", fs::path(directory).parent_path().string(), ": ", error.message()));
    }
    return absl::OkStatus();
  }
  if (!fs::is_empty(directory, error) && !fs::exists(fs::path(directory) / "CURRENT", error)) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot save into ", directory, ": ", ContentsOf(directory), ", not an earlier save"));
  }
  fs::remove_all(directory, error);
  if (error) return absl::InternalError(absl::StrCat("cannot remove the earlier save ", directory, ": ", error.message()));
  return absl::OkStatus();
}

}  // namespace

class StateDb::Impl {
 public:
  std::string folder;
  std::unique_ptr<rocksdb::DB> db;
  rocksdb::WriteBatch batch;
  std::map<std::string, std::string> checksums;  // of table files, which never change

  absl::Status Flush() {
    rocksdb::WriteOptions options;
    options.disableWAL = true;
    const rocksdb::Status status = db->Write(options, &batch);
    batch.Clear();
    return StatusOf(status, absl::StrCat("cannot write to ", folder));
  }

  absl::StatusOr<SavedFile> Describe(const fs::path& path, const std::string& name) {
    SavedFile file;
    file.set_name(name);
    std::error_code error;
    file.set_bytes(fs::file_size(path, error));
    if (error) return absl::InternalError(absl::StrCat("cannot read ", path.string(), ": ", error.message()));
    const bool constant = path.extension() == ".sst";
    if (const auto known = checksums.find(path.filename()); constant && known != checksums.end()) {
      file.set_checksum(known->second);
      return file;
    }
    TESSERA_ASSIGN_OR_RETURN(const std::string checksum, ChecksumOfFile(path));
    if (constant) checksums[path.filename()] = checksum;
    file.set_checksum(checksum);
    return file;
  }
};

StateDb::StateDb(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
StateDb::~StateDb() = default;

absl::StatusOr<std::unique_ptr<StateDb>> StateDb::Create(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return absl::InternalError(absl::StrCat("cannot create ", folder, ": ", error.message()));
  rocksdb::Options options = MakeOptions();
  options.create_if_missing = true;
  // DestroyDB takes the folder's lock, so the state of a server that still runs stays.
  TESSERA_RETURN_IF_ERROR(
      StatusOf(rocksdb::DestroyDB(folder, options), absl::StrCat("cannot empty ", folder, ", where this server keeps its state")));
  rocksdb::DB* db = nullptr;
  TESSERA_RETURN_IF_ERROR(
      StatusOf(rocksdb::DB::Open(options, folder, &db), absl::StrCat("cannot open ", folder, ", where this server keeps its state")));
  auto impl = std::make_unique<Impl>();
  impl->folder = folder;
  impl->db.reset(db);
  return std::unique_ptr<StateDb>(new StateDb(std::move(impl)));
}

absl::Status StateDb::Put(absl::string_view key, absl::string_view value) {
  const rocksdb::Status status = impl_->batch.Put(rocksdb::Slice(key.data(), key.size()), rocksdb::Slice(value.data(), value.size()));
  TESSERA_RETURN_IF_ERROR(StatusOf(status, absl::StrCat("cannot write to ", impl_->folder)));
  return impl_->batch.GetDataSize() < kBatchBytes ? absl::OkStatus() : impl_->Flush();
}

absl::StatusOr<std::vector<SavedFile>> StateDb::Checkpoint(const std::string& directory) {
  TESSERA_RETURN_IF_ERROR(impl_->Flush());
  TESSERA_RETURN_IF_ERROR(StatusOf(impl_->db->Flush(rocksdb::FlushOptions()), absl::StrCat("cannot write to ", impl_->folder)));
  TESSERA_RETURN_IF_ERROR(ClearShardFolder(directory));
  rocksdb::Checkpoint* checkpoint = nullptr;
  TESSERA_RETURN_IF_ERROR(StatusOf(rocksdb::Checkpoint::Create(impl_->db.get(), &checkpoint), absl::StrCat("cannot save ", impl_->folder)));
  const std::unique_ptr<rocksdb::Checkpoint> owner(checkpoint);
  TESSERA_RETURN_IF_ERROR(StatusOf(checkpoint->CreateCheckpoint(directory), absl::StrCat("cannot save into ", directory)));

  std::vector<SavedFile> files;
  const std::string parent = fs::path(directory).filename();
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    TESSERA_ASSIGN_OR_RETURN(files.emplace_back(), impl_->Describe(it->path(), absl::StrCat(parent, "/", it->path().filename().string())));
  }
  if (error) return absl::InternalError(absl::StrCat("cannot list ", directory, ": ", error.message()));
  std::sort(files.begin(), files.end(), [](const SavedFile& a, const SavedFile& b) { return a.name() < b.name(); });
  return files;
}

class SavedState::Impl {
 public:
  std::string folder;
  std::unique_ptr<rocksdb::DB> db;
};

SavedState::SavedState(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SavedState::~SavedState() = default;

absl::StatusOr<std::unique_ptr<SavedState>> SavedState::Open(const std::string& folder) {
  std::error_code error;
  if (!fs::exists(fs::path(folder) / "CURRENT", error)) {
    return absl::NotFoundError(absl::StrCat(folder, " is no saved shard: ", ContentsOf(folder)));
  }
  rocksdb::DB* db = nullptr;
  TESSERA_RETURN_IF_ERROR(StatusOf(rocksdb::DB::OpenForReadOnly(MakeOptions(), folder, &db),
                                   absl::StrCat("cannot read the saved shard ", folder, " (", ContentsOf(folder), ")")));
  auto impl = std::make_unique<Impl>();
  impl->folder = folder;
  impl->db.reset(db);
  return std::unique_ptr<SavedState>(new SavedState(std::move(impl)));
}

absl::StatusOr<std::string> SavedState::Get(absl::string_view key) const {
  std::string value;
  TESSERA_RETURN_IF_ERROR(StatusOf(impl_->db->Get(rocksdb::ReadOptions(), rocksdb::Slice(key.data(), key.size()), &value),
                                   absl::StrCat("cannot read the saved shard ", impl_->folder)));
  return value;
}

absl::Status SavedState::ForEach(absl::string_view begin, absl::string_view end,
                                 absl::FunctionRef<absl::Status(absl::string_view, absl::string_view)> body) const {
  const rocksdb::Slice bound(end.data(), end.size());
  rocksdb::ReadOptions options;
  options.iterate_upper_bound = &bound;
  // No readahead_size: it would be read for every small partition. What is read on end is read ahead by itself, further and further.
  options.fill_cache = false;
  const std::unique_ptr<rocksdb::Iterator> it(impl_->db->NewIterator(options));
  for (it->Seek(rocksdb::Slice(begin.data(), begin.size())); it->Valid(); it->Next()) {
    TESSERA_RETURN_IF_ERROR(
        body(absl::string_view(it->key().data(), it->key().size()), absl::string_view(it->value().data(), it->value().size())));
  }
  return StatusOf(it->status(), absl::StrCat("cannot read the saved shard ", impl_->folder));
}

}  // namespace tessera
