#include "ps/checkpoint/manifest.h"

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "google/protobuf/util/json_util.h"
#include "ps/checkpoint/checkpoint_store.h"
#include "ps/checkpoint/durable_file.h"

namespace tessera {
namespace {

std::string ManifestPath(const std::string& folder) { return absl::StrCat(folder, "/", kManifestName); }

absl::Status Damaged(const std::string& path, absl::string_view why) {
  return absl::DataLossError(absl::StrCat(path, ": damaged manifest: ", why, "; remove this checkpoint's folder or restore the file"));
}

}  // namespace

absl::Status WriteManifest(const std::string& folder, const Checkpoint& manifest) {
  Checkpoint versioned = manifest;
  versioned.set_format_version(kCheckpointFormatVersion);
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  std::string json;
  const auto status = google::protobuf::util::MessageToJsonString(versioned, &json, options);
  if (!status.ok()) {
    return absl::InternalError(absl::StrCat(ManifestPath(folder), ": cannot be written as JSON: ", std::string(status.message())));
  }
  return WriteFileDurably(ManifestPath(folder), json);
}

absl::StatusOr<Checkpoint> ReadManifest(const std::string& folder) {
  const std::string path = ManifestPath(folder);
  absl::StatusOr<std::string> json = ReadFile(path);
  if (absl::IsNotFound(json.status())) {
    return absl::NotFoundError(absl::StrCat(path, ": no such file, so ", folder, " is not a complete checkpoint"));
  }
  TESSERA_RETURN_IF_ERROR(json.status());
  // The version first, leniently: a newer program may have written fields that this one does not know.
  Checkpoint manifest;
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  auto status = google::protobuf::util::JsonStringToMessage(*json, &manifest, options);
  if (!status.ok()) return Damaged(path, std::string(status.message()));
  if (manifest.format_version() == 0) return Damaged(path, "it has no format_version");
  if (manifest.format_version() > kCheckpointFormatVersion) {
    return absl::FailedPreconditionError(absl::StrCat(path, ": checkpoint format ", manifest.format_version(),
                                                      ", this program reads up to ", kCheckpointFormatVersion, "; use the newer program that wrote it"));
  }
  manifest.Clear();
  options.ignore_unknown_fields = false;
  status = google::protobuf::util::JsonStringToMessage(*json, &manifest, options);
  if (!status.ok()) return Damaged(path, std::string(status.message()));
  return manifest;
}

}  // namespace tessera
