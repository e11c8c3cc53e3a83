#include "common/job/job_draft.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tessera {
namespace {

bool IsAtOrBelow(absl::string_view key, absl::string_view parent) {
  return absl::StartsWith(key, parent) && (key.size() == parent.size() || key[parent.size()] == '.' || key[parent.size()] == '[');
}

}  // namespace

absl::string_view ParentKey(absl::string_view key) {
  const size_t end = key.find_last_of(".[");
  return end == absl::string_view::npos ? absl::string_view() : key.substr(0, end);
}

void JobDraft::Give(const std::string& key, const std::string& text, int line) {
  Place(key, line);
  Origin origin;
  origin.set_key(key);
  origin.set_value(text);
  origin.set_source(Source(line));
  origins.push_back(std::move(origin));
}

void JobDraft::Forget(const std::string& key) {
  origins.erase(std::remove_if(origins.begin(), origins.end(), [&](const Origin& origin) { return IsAtOrBelow(origin.key(), key); }),
                origins.end());
  absl::erase_if(lines_, [&](const auto& entry) { return IsAtOrBelow(entry.first, key); });
}

void JobDraft::Refuse(const std::string& key, const std::string& message) { RefuseAt(LineOf(key), key, message); }

void JobDraft::RefuseAt(int line, const std::string& key, const std::string& message) {
  for (absl::string_view k = key; !k.empty(); k = ParentKey(k)) {
    if (refused_.contains(k)) return;
  }
  refused_.insert(key);
  errors_.push_back({line, absl::StrCat(Source(line), ": ", key.empty() ? "" : key + ": ", message)});
}

absl::Status JobDraft::status() const {
  if (errors_.empty()) return absl::OkStatus();
  std::vector<Error> sorted = errors_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Error& a, const Error& b) { return a.line < b.line; });
  return absl::InvalidArgumentError(absl::StrJoin(sorted, "\n", [](std::string* out, const Error& error) { out->append(error.text); }));
}

std::string JobDraft::Source(int line) const {
  if (line == kSetLine) return "--set";
  return line == 0 ? file_ : absl::StrCat(file_, ":", line);
}

int JobDraft::LineOf(absl::string_view key) const {
  for (; !key.empty(); key = ParentKey(key)) {
    if (const auto it = lines_.find(key); it != lines_.end()) return it->second;
  }
  return 0;
}

}  // namespace tessera
