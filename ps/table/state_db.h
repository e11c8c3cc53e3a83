// One server's rows, chunks and meta on disk. The only code that knows RocksDB stands in state_db.cc.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/parameter_server.pb.h"

namespace tessera {

// The database a running server writes to, without RocksDB's own log: what is not part of a checkpoint yet is lost with the process.
// Owned by one thread at a time. After an error it must be made anew.
class StateDb {
 public:
  // An empty one; what was in `folder` is removed. Errors name the folder and, where it is in use, say so.
  static absl::StatusOr<std::unique_ptr<StateDb>> Create(const std::string& folder);
  ~StateDb();

  // Collected into large batches.
  absl::Status Put(absl::string_view key, absl::string_view value);
  // Makes `directory` hold all that was put so far, by hard links where it is on the same file system; durable when this returns.
  // A directory that holds an earlier shard is replaced, one that holds anything else is refused. Files are listed as
  // "NAME_OF_DIRECTORY/file", in order of name, with size and checksum.
  absl::StatusOr<std::vector<SavedFile>> Checkpoint(const std::string& directory);

 private:
  class Impl;
  explicit StateDb(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// A shard's folder, for reading: nothing in it is written. Thread-safe.
class SavedState {
 public:
  static absl::StatusOr<std::unique_ptr<SavedState>> Open(const std::string& folder);
  ~SavedState();

  // NOT_FOUND when the key is not there.
  absl::StatusOr<std::string> Get(absl::string_view key) const;
  // Calls body(key, value) for all keys in [begin, end), ascending; stops at its first error.
  absl::Status ForEach(absl::string_view begin, absl::string_view end,
                       absl::FunctionRef<absl::Status(absl::string_view key, absl::string_view value)> body) const;

 private:
  class Impl;
  explicit SavedState(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera
