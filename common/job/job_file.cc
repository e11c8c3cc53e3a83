#include "common/job/job_file.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "common/job/job_draft.h"
#include "common/job/job_values.h"
#include "common/job/utf8.h"
#include "common/job/validate.h"
#include "common/job/yaml_reader.h"
#include "common/status_macros.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

// A job is a page of text; a data file given by mistake is not read to its end.
constexpr uint64_t kJobBytesMax = 1u << 20;

// The folder without symbolic links, so that ".." in a path means what it means to the system.
fs::path RealFolder(const fs::path& folder) {
  std::error_code error;
  const fs::path real = fs::weakly_canonical(fs::absolute(folder.empty() ? "." : folder, error), error);
  return error ? folder : real;
}

void MakeAbsolute(const fs::path& folder, std::string* path) {
  if (!path->empty() && (*path)[0] != '/') *path = (folder / *path).lexically_normal().string();
}

bool IsGlobChar(char c) { return c == '*' || c == '?' || c == '[' || c == '\\'; }

// A path or a glob. What would be a pattern in the folder's own name is not meant as one.
void MakeGlobAbsolute(const fs::path& folder, std::string* glob) {
  if (std::none_of(glob->begin(), glob->end(), IsGlobChar)) return MakeAbsolute(folder, glob);
  std::string escaped;
  for (const char c : folder.string()) {
    if (IsGlobChar(c)) escaped += '\\';
    escaped += c;
  }
  MakeAbsolute(escaped, glob);
}

// Every path of the job that is not absolute yet. What names files may be a glob.
void MakePathsAbsolute(const fs::path& folder, Job* job) {
  const auto make_all = [&](google::protobuf::RepeatedPtrField<std::string>* paths) {
    for (std::string& path : *paths) MakeGlobAbsolute(folder, &path);
  };
  if (job->data().has_train()) {
    make_all(job->mutable_data()->mutable_train()->mutable_files());
    make_all(job->mutable_data()->mutable_train()->mutable_exclude());
  }
  if (job->data().has_evaluate()) {
    make_all(job->mutable_data()->mutable_evaluate()->mutable_files());
    make_all(job->mutable_data()->mutable_evaluate()->mutable_exclude());
  }
  if (job->has_storage()) MakeAbsolute(folder, job->mutable_storage()->mutable_directory());
  if (job->has_checkpoint()) MakeAbsolute(folder, job->mutable_checkpoint()->mutable_directory());
}

void NameByFile(const std::string& path, JobDraft* draft) {
  draft->job.set_name(fs::path(path).stem().string());
  Origin* const origin = &draft->origins.emplace_back();
  origin->set_key("name");
  origin->set_value(QuoteText(draft->job.name()));
  origin->set_source("default");
  origin->set_reason("the job file's name");
}

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) return absl::NotFoundError(absl::StrCat(path, ": no such file; give the path of a job file"));
  if (fs::is_directory(status)) return absl::InvalidArgumentError(absl::StrCat(path, ": is a folder; give the path of a job file in it"));
  std::ifstream file(path, std::ios::binary);
  std::string text(kJobBytesMax + 1, '\0');
  if (!file) return absl::PermissionDeniedError(absl::StrCat(path, ": cannot be opened; is it readable for you?"));
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) return absl::DataLossError(absl::StrCat(path, ": cannot be read"));
  text.resize(static_cast<size_t>(file.gcount()));
  if (text.size() > kJobBytesMax) return absl::InvalidArgumentError(absl::StrCat(path, ": is larger than 1 MiB; is this a job file?"));
  return text;
}

absl::Status CheckText(const std::string& text, const std::string& path) {
  if (text.find('\0') != std::string::npos) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": is not a text file; give the path of a job file"));
  }
  const size_t bad = FindBadUtf8(text);
  if (bad == std::string::npos) return absl::OkStatus();
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(bad), '\n');
  return absl::InvalidArgumentError(absl::StrCat(path, ":", line, ": has a byte that is not UTF-8; save the file as UTF-8"));
}

}  // namespace

absl::StatusOr<JobFile> LoadJob(const std::string& path, const std::vector<std::string>& sets) {
  const absl::StatusOr<std::string> text = ReadFile(path);
  if (!text.ok()) return text.status();
  return ParseJob(*text, path, sets);
}

absl::StatusOr<JobFile> ParseJob(const std::string& text, const std::string& path, const std::vector<std::string>& sets) {
  JobDraft draft(path);
  TESSERA_RETURN_IF_ERROR(CheckText(text, path));
  if (!ReadYamlText(text, &draft)) return draft.status();  // nothing behind it would make sense
  MakePathsAbsolute(RealFolder(fs::path(path).parent_path()), &draft.job);
  for (const std::string& set : sets) {
    if (FindBadUtf8(set) != std::string::npos) return absl::InvalidArgumentError(absl::StrCat("--set: \"", set, "\" is not UTF-8"));
    ReadYamlAssignment(set, &draft);
  }
  MakePathsAbsolute(RealFolder("."), &draft.job);
  if (draft.job.name().empty()) NameByFile(path, &draft);
  ValidateJob(&draft);
  if (absl::Status status = draft.status(); !status.ok()) return status;
  return JobFile{std::move(draft.job), std::move(draft.origins)};
}

}  // namespace tessera
