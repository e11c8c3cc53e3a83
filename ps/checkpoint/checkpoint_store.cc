#include "ps/checkpoint/checkpoint_store.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "common/status_macros.h"
#include "ps/checkpoint/durable_file.h"
#include "ps/checkpoint/manifest.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr char kUnfinished[] = ".unfinished";
constexpr char kCurrent[] = "CURRENT";

std::string Absolute(const std::string& path) {
  std::error_code error;
  std::string absolute = fs::absolute(path, error).lexically_normal().string();
  if (error) return path;
  while (absolute.size() > 1 && absolute.back() == '/') absolute.pop_back();
  return absolute;
}

absl::Status FileError(absl::string_view what, const std::string& path, const std::error_code& error) {
  return absl::ErrnoToStatus(error.value(), absl::StrCat(path, ": cannot ", what));
}

absl::Status RemoveAll(const std::string& folder) {
  std::error_code error;
  fs::remove_all(folder, error);
  return error ? FileError("remove", folder, error) : absl::OkStatus();
}

absl::Status Rename(const std::string& from, const std::string& to) {
  std::error_code error;
  fs::rename(from, to, error);
  return error ? FileError(absl::StrCat("rename to ", to), from, error) : absl::OkStatus();
}

std::vector<std::string> FoldersIn(const std::string& directory) {
  std::vector<std::string> folders;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (it->is_directory(ignored)) folders.push_back(it->path().string());
  }
  return folders;
}

// Servers of other machines save too; what they saved has to be seen here.
absl::Status CheckFiles(const std::string& folder, const Checkpoint& manifest) {
  for (const SavedFile& file : manifest.files()) {
    const std::string path = absl::StrCat(folder, "/", file.name());
    std::error_code error;
    const uint64_t bytes = fs::file_size(path, error);
    if (error) {
      return absl::FailedPreconditionError(absl::StrCat(path, ": a server saved this file, but here it cannot be read (", error.message(),
                                                        "); checkpoint.directory must be one storage that all servers share"));
    }
    if (bytes != file.bytes()) return absl::DataLossError(absl::StrCat(path, ": ", bytes, " bytes, ", file.bytes(), " were saved"));
  }
  return absl::OkStatus();
}

}  // namespace

std::string ShardFolder(uint32_t shard, uint32_t shards) { return absl::StrCat("shard-", shard, "-of-", shards); }

bool IsUnfinishedShard(const std::string& path, uint32_t shard, uint32_t shards) {
  const fs::path folder(path);
  return folder.is_absolute() && folder.filename().string() == ShardFolder(shard, shards) &&
         absl::EndsWith(folder.parent_path().filename().string(), kUnfinished);
}

std::string CheckpointName(const std::string& folder) {
  return fs::path(std::string(absl::StripSuffix(folder, kUnfinished))).filename().string();
}

CheckpointStore::CheckpointStore(const std::string& directory) : directory_(Absolute(directory)) {}

absl::StatusOr<std::string> CheckpointStore::Begin(uint64_t step, uint64_t incarnation) {
  TESSERA_RETURN_IF_ERROR(CreateDirectoriesDurably(directory_));
  for (const std::string& folder : FoldersIn(directory_)) {
    if (absl::EndsWith(folder, kUnfinished)) TESSERA_RETURN_IF_ERROR(RemoveAll(folder));
  }
  std::string folder = absl::StrFormat("%s/step-%012u", directory_, step);
  if (FileExists(folder)) absl::StrAppend(&folder, "-incarnation-", incarnation);
  const std::string base = folder;
  for (int again = 2; FileExists(folder); ++again) folder = absl::StrCat(base, "-", again);
  absl::StrAppend(&folder, kUnfinished);
  std::error_code error;
  fs::create_directory(folder, error);
  if (error) return FileError("create folder", folder, error);
  return folder;
}

absl::StatusOr<std::string> CheckpointStore::Commit(const std::string& folder, const Checkpoint& manifest) {
  TESSERA_RETURN_IF_ERROR(CheckFiles(folder, manifest));
  TESSERA_RETURN_IF_ERROR(WriteManifest(folder, manifest));
  TESSERA_RETURN_IF_ERROR(SyncTree(folder));
  const std::string final_folder(absl::StripSuffix(folder, kUnfinished));
  TESSERA_RETURN_IF_ERROR(Rename(folder, final_folder));
  TESSERA_RETURN_IF_ERROR(SyncDirectory(directory_));
  TESSERA_RETURN_IF_ERROR(MakeCurrent(final_folder));
  return final_folder;
}

absl::Status CheckpointStore::Update(const std::string& folder, const Checkpoint& manifest) {
  TESSERA_RETURN_IF_ERROR(WriteManifest(folder, manifest));
  return MakeCurrent(folder);
}

absl::Status CheckpointStore::MakeCurrent(const std::string& folder) {
  return WriteFileDurably(absl::StrCat(directory_, "/", kCurrent), absl::StrCat(CheckpointName(folder), "\n"));
}

absl::StatusOr<CheckpointStore::Entry> CheckpointStore::Newest() const {
  const std::string path = absl::StrCat(directory_, "/", kCurrent);
  absl::StatusOr<std::string> current = ReadFile(path);
  if (absl::IsNotFound(current.status())) return absl::NotFoundError(absl::StrCat(directory_, ": no checkpoint here (no file CURRENT)"));
  TESSERA_RETURN_IF_ERROR(current.status());
  const std::string name(absl::StripSuffix(*current, "\n"));
  if (name.empty() || absl::StrContains(name, "/")) {
    return absl::DataLossError(absl::StrCat(path, ": damaged: it holds no name of a checkpoint's folder"));
  }
  absl::StatusOr<Entry> entry = Read(absl::StrCat(directory_, "/", name));
  if (absl::IsNotFound(entry.status())) {
    return absl::DataLossError(absl::StrCat(path, " names ", name, ", but ", entry.status().message()));
  }
  return entry;
}

absl::StatusOr<CheckpointStore::Entry> CheckpointStore::Read(const std::string& folder) {
  Entry entry;
  entry.folder = Absolute(folder);
  TESSERA_ASSIGN_OR_RETURN(entry.manifest, ReadManifest(entry.folder));
  return entry;
}

std::vector<CheckpointStore::Entry> CheckpointStore::List() const {
  std::vector<Entry> entries;
  for (const std::string& folder : FoldersIn(directory_)) {
    if (absl::EndsWith(folder, kUnfinished)) continue;
    if (absl::StatusOr<Entry> entry = Read(folder); entry.ok()) entries.push_back(*std::move(entry));
  }
  // A run that went back to an older checkpoint has lower steps than what it left behind, but a higher incarnation.
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::make_tuple(a.manifest.incarnation(), a.manifest.step(), a.folder) <
           std::make_tuple(b.manifest.incarnation(), b.manifest.step(), b.folder);
  });
  return entries;
}

absl::Status CheckpointStore::Prune(uint32_t keep, const std::vector<std::string>& protected_folders) {
  absl::flat_hash_set<std::string> kept;
  for (const std::string& folder : protected_folders) kept.insert(CheckpointName(folder));
  if (absl::StatusOr<Entry> current = Newest(); current.ok()) kept.insert(CheckpointName(current->folder));
  const std::vector<Entry> entries = List();
  for (size_t i = 0; i + keep < entries.size(); ++i) {
    const std::string& folder = entries[i].folder;
    if (kept.contains(CheckpointName(folder))) continue;
    // Unfinished first, so that a crash on the way leaves no half of a checkpoint that looks complete.
    TESSERA_RETURN_IF_ERROR(Rename(folder, absl::StrCat(folder, kUnfinished)));
    TESSERA_RETURN_IF_ERROR(RemoveAll(absl::StrCat(folder, kUnfinished)));
  }
  return absl::OkStatus();
}

}  // namespace tessera
