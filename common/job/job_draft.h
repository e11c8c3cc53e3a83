// A job while it is being read: its values so far, where each of them stands, and all that was wrong.
#pragma once

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/job.pb.h"
#include "proto/plan.pb.h"

namespace tessera {

// Line of values that come from the command line; sorts behind all lines of the file.
inline constexpr int kSetLine = 1 << 30;

// Owned by one thread. Key paths are written "data.csv.separator", "features[2].as".
class JobDraft {
 public:
  explicit JobDraft(std::string file) : file_(std::move(file)) {}

  Job job;
  std::vector<Origin> origins;  // of every value given, in the order given

  // Records where a key stands.
  void Place(const std::string& key, int line) { lines_[key] = line; }
  // Records a value that was given.
  void Give(const std::string& key, const std::string& text, int line);
  // Forgets a key and all below it, because it is about to be given anew.
  void Forget(const std::string& key);

  // Adds an error at `key`, placed where the key or its nearest given parent stands. Of several errors at one key, or below a refused
  // one, only the first is kept: the others follow from it.
  void Refuse(const std::string& key, const std::string& message);
  // The same where the line is known although the key is not part of the schema.
  void RefuseAt(int line, const std::string& key, const std::string& message);
  // Keeps later errors at a key silent: an earlier one already tells what it should have been.
  void Excuse(const std::string& key) { refused_.insert(key); }

  // OK, or every error, one a line, in file order.
  absl::Status status() const;

 private:
  struct Error {
    int line;
    std::string text;
  };
  std::string Source(int line) const;
  int LineOf(absl::string_view key) const;  // 0: nowhere

  const std::string file_;
  absl::flat_hash_map<std::string, int> lines_;
  absl::flat_hash_set<std::string> refused_;
  std::vector<Error> errors_;
};

// The key one level up: "a.b[2].c" -> "a.b[2]" -> "a.b" -> "a" -> "".
absl::string_view ParentKey(absl::string_view key);

}  // namespace tessera
