// The checkpoint directory: which checkpoints exist, which is current, and how a new one becomes visible in one rename.
//
//   checkpoints/
//     CURRENT                     name of the newest complete checkpoint (written beside, then renamed)
//     step-000000000120/          one checkpoint
//       MANIFEST.json             proto/checkpoint.proto, written last, by rename
//       shard-0-of-2/             what server 0 saved
//     step-000000000240.unfinished/
//
// Where step-N is there already (a run that went back to an older checkpoint comes by step N again) the folder is called
// step-N-incarnation-I, and should that be there too, step-N-incarnation-I-2 and so on.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/checkpoint.pb.h"

namespace tessera {

inline constexpr uint32_t kCheckpointFormatVersion = 1;
// The folder of one server inside a checkpoint.
std::string ShardFolder(uint32_t shard, uint32_t shards);
// Whether this is the absolute path that a save gives shard `shard`: its folder right in an unfinished checkpoint.
bool IsUnfinishedShard(const std::string& path, uint32_t shard, uint32_t shards);
// The name (not the path) an unfinished folder will have once it is committed; what reports call the checkpoint.
std::string CheckpointName(const std::string& folder);

// Thread-compatible. One process at a time may call the methods that write; reading is safe beside it.
class CheckpointStore {
 public:
  explicit CheckpointStore(const std::string& directory);

  // An empty folder for step `step`; sweeps what earlier, unfinished saves left in the directory. Returns its absolute path.
  absl::StatusOr<std::string> Begin(uint64_t step, uint64_t incarnation);
  // Writes the manifest into `folder`, renames it to its final name and makes it CURRENT. Returns the final absolute path. Fails, and
  // leaves the folder unfinished, if a file of the manifest is not there in its size (a server saved to a disk that only it sees).
  absl::StatusOr<std::string> Commit(const std::string& folder, const Checkpoint& manifest);
  // Replaces the manifest of a committed checkpoint (final state of the job) and makes it CURRENT.
  absl::Status Update(const std::string& folder, const Checkpoint& manifest);

  struct Entry {
    std::string folder;  // absolute
    Checkpoint manifest;
  };
  // The newest complete checkpoint: what CURRENT names. NOT_FOUND if there is none.
  absl::StatusOr<Entry> Newest() const;
  // The manifest of one checkpoint's folder. A newer format version is refused by name.
  static absl::StatusOr<Entry> Read(const std::string& folder);
  // All complete ones, oldest first. A folder whose manifest cannot be read is passed over: Read tells why.
  std::vector<Entry> List() const;
  // Removes all but the newest `keep`, the current one and those named (by path or by folder name).
  absl::Status Prune(uint32_t keep, const std::vector<std::string>& protected_folders);

  const std::string& directory() const { return directory_; }

 private:
  absl::Status MakeCurrent(const std::string& folder);

  const std::string directory_;  // absolute
};

// What a person may write: a checkpoint's folder, a checkpoint directory (then its CURRENT), a job's run folder with `checkpoints` below
// it, or either of the last two with "@best" or "@newest" after it. Errors say what was looked for.
absl::StatusOr<CheckpointStore::Entry> FindCheckpoint(const std::string& name);

}  // namespace tessera
