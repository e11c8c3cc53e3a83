#include "ps/table/shard_folder.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/status_macros.h"
#include <xxhash.h>

namespace tessera {
namespace {

namespace fs = std::filesystem;

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

}  // namespace

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
  // CURRENT last: a process that dies meanwhile must leave what the next attempt knows for an earlier save.
  std::vector<fs::path> others;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename() != "CURRENT") others.push_back(it->path());
  }
  for (const fs::path& path : others) {
    if (!error) fs::remove_all(path, error);
  }
  if (!error) fs::remove_all(directory, error);
  if (error) return absl::InternalError(absl::StrCat("cannot remove the earlier save ", directory, ": ", error.message()));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<SavedFile>> DescribeShardFolder(const std::string& directory, std::map<std::string, std::string>* known) {
  std::vector<SavedFile> files;
  std::map<std::string, std::string> checksums;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename();
    SavedFile& file = files.emplace_back();
    file.set_name(absl::StrCat(fs::path(directory).filename().string(), "/", name));
    file.set_bytes(fs::file_size(it->path(), error));
    if (error) return absl::InternalError(absl::StrCat("cannot read ", it->path().string(), ": ", error.message()));
    const auto found = known->find(name);
    if (found != known->end()) {
      file.set_checksum(found->second);
    } else {
      TESSERA_ASSIGN_OR_RETURN(*file.mutable_checksum(), ChecksumOfFile(it->path()));
    }
    if (it->path().extension() == ".sst") checksums[name] = file.checksum();
  }
  if (error) return absl::InternalError(absl::StrCat("cannot list ", directory, ": ", error.message()));
  *known = std::move(checksums);
  std::sort(files.begin(), files.end(), [](const SavedFile& a, const SavedFile& b) { return a.name() < b.name(); });
  return files;
}

}  // namespace tessera
