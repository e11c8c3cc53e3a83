#include "worker/data/files.h"

#include <errno.h>
#include <fnmatch.h>
#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "worker/data/input.h"

namespace tessera {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

std::string_view TakeNumber(std::string_view* text) {
  size_t length = 0;
  while (length < text->size() && IsDigit((*text)[length])) ++length;
  std::string_view number = text->substr(0, length);
  text->remove_prefix(length);
  while (number.size() > 1 && number[0] == '0') number.remove_prefix(1);
  return number;
}

std::string AbsolutePath(const std::string& path) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  return error ? path : absolute.lexically_normal().string();
}

enum class Kind { kAbsent, kFile, kDirectory, kOther };

Kind KindOf(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return Kind::kAbsent;
  if (S_ISREG(status.st_mode)) return Kind::kFile;
  return S_ISDIR(status.st_mode) ? Kind::kDirectory : Kind::kOther;
}

bool IsGlob(std::string_view pattern) { return pattern.find_first_of("*?[") != std::string_view::npos; }

// Without the backslashes that take a meaning from the character behind them.
std::string Unescaped(std::string_view pattern) {
  std::string text;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\' && i + 1 < pattern.size()) ++i;
    text += pattern[i];
  }
  return text;
}

absl::StatusOr<std::vector<std::string>> ExpandGlob(const std::string& pattern) {
  glob_t matches;
  const int result = glob(pattern.c_str(), GLOB_NOSORT, nullptr, &matches);
  std::vector<std::string> files;
  if (result == 0) {
    for (size_t i = 0; i < matches.gl_pathc; ++i) {
      if (KindOf(matches.gl_pathv[i]) == Kind::kFile) files.push_back(matches.gl_pathv[i]);
    }
  }
  globfree(&matches);
  if (result != 0 && result != GLOB_NOMATCH) return absl::InternalError(absl::StrCat(pattern, ": cannot list the files it matches"));
  if (files.empty()) {
    return absl::NotFoundError(absl::StrCat(pattern, ": matches no file; check the path and the spelling"));
  }
  std::sort(files.begin(), files.end(), NaturalLess);
  return files;
}

absl::StatusOr<std::vector<std::string>> ExpandPattern(const std::string& pattern) {
  switch (KindOf(pattern)) {
    case Kind::kFile:
      return std::vector<std::string>{pattern};
    case Kind::kDirectory:
      return absl::InvalidArgumentError(absl::StrCat(pattern, ": is a directory, not a file; name its files, for example ", pattern, "/*"));
    case Kind::kOther:
      return absl::InvalidArgumentError(
          absl::StrCat(pattern, ": is not a regular file; it is read in several places at once, which only a file allows"));
    case Kind::kAbsent:
      break;
  }
  if (std::string path = Unescaped(pattern); KindOf(path) == Kind::kFile) return std::vector<std::string>{std::move(path)};
  if (IsGlob(pattern)) return ExpandGlob(pattern);
  return absl::NotFoundError(absl::StrCat(pattern, ": ", std::strerror(errno)));
}

}  // namespace

bool NaturalLess(std::string_view a, std::string_view b) {
  const std::string_view whole_a = a;
  const std::string_view whole_b = b;
  while (!a.empty() && !b.empty()) {
    if (IsDigit(a[0]) && IsDigit(b[0])) {
      const std::string_view x = TakeNumber(&a);
      const std::string_view y = TakeNumber(&b);
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
      continue;
    }
    if (a[0] != b[0]) return static_cast<unsigned char>(a[0]) < static_cast<unsigned char>(b[0]);
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  if (a.empty() != b.empty()) return a.empty();
  return whole_a < whole_b;  // they differ in leading zeros at most
}

absl::StatusOr<std::vector<std::string>> ExpandFiles(const std::vector<std::string>& patterns, const std::vector<std::string>& exclude) {
  std::vector<std::string> globs;
  for (const std::string& pattern : exclude) globs.push_back(AbsolutePath(pattern));
  std::vector<bool> used(globs.size(), false);
  std::vector<std::string> files;
  absl::flat_hash_set<std::string> seen;
  for (const std::string& pattern : patterns) {
    TESSERA_ASSIGN_OR_RETURN(const std::vector<std::string> matches, ExpandPattern(AbsolutePath(pattern)));
    for (const std::string& path : matches) {
      bool excluded = false;
      for (size_t i = 0; i < globs.size(); ++i) {
        if (globs[i] == path || Unescaped(globs[i]) == path || fnmatch(globs[i].c_str(), path.c_str(), FNM_PATHNAME) == 0) excluded = used[i] = true;
      }
      if (!excluded && seen.insert(path).second) files.push_back(path);
    }
  }
  for (size_t i = 0; i < globs.size(); ++i) {
    if (!used[i]) return absl::NotFoundError(absl::StrCat(exclude[i], ": this exclude pattern matches none of the files"));
  }
  if (files.empty() && !patterns.empty()) return absl::InvalidArgumentError("every file is excluded: nothing is left to read");
  return files;
}

absl::StatusOr<google::protobuf::RepeatedPtrField<InputFile>> DescribeFiles(const std::vector<std::string>& paths) {
  google::protobuf::RepeatedPtrField<InputFile> files;
  for (const std::string& path : paths) {
    TESSERA_ASSIGN_OR_RETURN(*files.Add(), DescribeFile(path));
  }
  return files;
}

}  // namespace tessera
