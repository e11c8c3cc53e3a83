// The disk under one server's tables: rows, chunks and meta in a RocksDB folder. The only code that knows RocksDB stands in state_db.cc
// and rocksdb_options.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/parameter_server.pb.h"

namespace tessera {

struct StateDbOptions {
  // Write buffers, cached blocks, indexes and filters together stay within this. Pages that the operating system caches do not count.
  uint64_t memory_bytes = 64u << 20;
};

// What is written is read at once, but survives the process only once Flush or Checkpoint has returned: there is no RocksDB log, and the
// destructor flushes nothing. Thread-safe: any number of readers beside one writer. Errors name the folder; DATA_LOSS also the damaged
// file and where in it. RESOURCE_EXHAUSTED says that the disk is full: the call may be repeated once there is room.
class StateDb {
 public:
  // An empty one; what was in `folder` is removed. Errors say so where the folder is in use.
  static absl::StatusOr<std::unique_ptr<StateDb>> Create(const std::string& folder, const StateDbOptions& options = {});
  // What was flushed before, whatever ended the last process. NOT_FOUND where there is none.
  static absl::StatusOr<std::unique_ptr<StateDb>> Open(const std::string& folder, const StateDbOptions& options = {});
  // As Open, but nothing in `folder` is written then or later. REQUIRES: only the const methods are called.
  static absl::StatusOr<std::unique_ptr<StateDb>> OpenForReading(const std::string& folder);
  ~StateDb();

  // Changes that are made as one. Owned by one thread; may be used again after Clear.
  class Batch {
   public:
    Batch();
    ~Batch();
    void Put(absl::string_view key, absl::string_view value);
    void Delete(absl::string_view key);
    size_t bytes() const;
    void Clear();

   private:
    friend class StateDb;
    class Impl;
    std::unique_ptr<Impl> impl_;
  };

  // All of the batch or, after an error, nothing of it. A crash, too, leaves all or nothing. The batch stays as it is.
  absl::Status Write(Batch* batch);
  // All that was written so far now survives whatever happens.
  absl::Status Flush();
  // Makes `directory` hold at least all that was written before the call, by hard links where it is on the same file system; durable when
  // this returns. A directory that holds an earlier shard is replaced, one that holds anything else is refused. Files are listed as
  // "NAME_OF_DIRECTORY/file", in order of name, with size and checksum. What an earlier process left is verified first, once.
  absl::StatusOr<std::vector<SavedFile>> Checkpoint(const std::string& directory);

  // NOT_FOUND when the key is not there.
  absl::StatusOr<std::string> Get(absl::string_view key) const;
  // `keys` are `count` keys of `key_bytes` each, ascending, one after the other. Calls found(i, value) for those that are there, ascending;
  // stops at its first error. A Write at the same time may be seen in part. After an error `failed` is the key it is about.
  absl::Status MultiGet(const char* keys, size_t key_bytes, size_t count,
                        absl::FunctionRef<absl::Status(size_t i, absl::string_view value)> found, size_t* failed = nullptr) const;
  // Calls body(key, value) for all keys in [begin, end), ascending, as they were at the call; stops at its first error.
  absl::Status ForEach(absl::string_view begin, absl::string_view end,
                       absl::FunctionRef<absl::Status(absl::string_view key, absl::string_view value)> body) const;

  // Reads all table files and checks them: what is damaged, though nobody has asked for it yet.
  absl::Status Verify() const;

  const std::string& folder() const;
  uint64_t disk_bytes() const;    // of table files, those not yet removed included
  uint64_t memory_bytes() const;  // in use of the option of this name

 private:
  class Impl;
  explicit StateDb(std::unique_ptr<Impl> impl);
  static absl::StatusOr<std::unique_ptr<StateDb>> OpenWritable(const std::string& folder, const StateDbOptions& options, bool create);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera
