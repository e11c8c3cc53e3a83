#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/status_macros.h"
#include "ps/checkpoint/checkpoint_store.h"
#include "ps/checkpoint/durable_file.h"
#include "ps/checkpoint/manifest.h"

namespace tessera {
namespace {

// The checkpoint directory that `base` is or has below it.
absl::StatusOr<std::string> FindDirectory(const std::string& base) {
  const std::string below = absl::StrCat(base, "/checkpoints");
  if (FileExists(absl::StrCat(base, "/CURRENT"))) return base;
  if (FileExists(absl::StrCat(below, "/CURRENT"))) return below;
  if (!FileExists(base)) {
    return absl::NotFoundError(
        absl::StrCat(base, ": no such folder; give a checkpoint's folder, a checkpoint directory or a job's run folder"));
  }
  return absl::NotFoundError(absl::StrCat(base, ": no checkpoint here; looked for ", base, "/", kManifestName, " (one checkpoint), ", base,
                                          "/CURRENT (a checkpoint directory) and ", below, "/CURRENT (a job's run folder)"));
}

}  // namespace

absl::StatusOr<CheckpointStore::Entry> FindCheckpoint(const std::string& name) {
  absl::string_view base = name;
  const bool best = absl::ConsumeSuffix(&base, "@best");
  const bool newest = !best && absl::ConsumeSuffix(&base, "@newest");
  while (base.size() > 1 && absl::ConsumeSuffix(&base, "/")) {
  }
  if (base.empty()) return absl::InvalidArgumentError(absl::StrCat("\"", name, "\" names no folder"));
  const std::string folder(base);
  if (FileExists(absl::StrCat(folder, "/", kManifestName))) {
    if (!best && !newest) return CheckpointStore::Read(folder);
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": ", folder, " is one checkpoint; @best and @newest go after the directory around it"));
  }
  TESSERA_ASSIGN_OR_RETURN(const std::string directory, FindDirectory(folder));
  TESSERA_ASSIGN_OR_RETURN(CheckpointStore::Entry entry, CheckpointStore(directory).Newest());
  if (!best) return entry;
  const std::string& best_name = entry.manifest.state().best_checkpoint();
  if (best_name.empty()) {
    return absl::NotFoundError(
        absl::StrCat(name, ": no checkpoint of this job was evaluated yet, so none is best; use ", folder, "@newest"));
  }
  return CheckpointStore::Read(absl::StrCat(directory, "/", best_name));
}

}  // namespace tessera
