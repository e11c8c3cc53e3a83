#include "worker/data/libsvm_line.h"

#include <charconv>

#include "absl/strings/str_cat.h"
#include "common/job/utf8.h"
#include "worker/data/numeric.h"

namespace tessera {
namespace {

bool IsBlank(char c) { return c == ' ' || c == '\t'; }

std::string BadPair(std::string_view token) {
  if (token.substr(0, 4) == "qid:") {
    return absl::StrCat("\"", Excerpt(token), "\": this is ranking data, whose rows belong to groups, which cannot be trained on yet; ",
                        "remove the qid tokens to train on single rows");
  }
  return absl::StrCat("expected index:value, found \"", Excerpt(token), "\"");
}

}  // namespace

bool LibsvmLine::IsComment() const {
  const char* at = at_;
  while (at != end_ && IsBlank(*at)) ++at;
  return at != end_ && *at == '#';
}

std::string_view LibsvmLine::TakeToken() {
  while (at_ != end_ && IsBlank(*at_)) ++at_;
  if (at_ != end_ && *at_ == '#') at_ = end_;
  const char* const begin = at_;
  while (at_ != end_ && !IsBlank(*at_)) ++at_;
  return std::string_view(begin, at_ - begin);
}

std::string_view LibsvmLine::TakeLabel() {
  const char* const before = at_;
  const std::string_view token = TakeToken();
  if (token.find(':') == std::string_view::npos) return token;
  at_ = before;
  return std::string_view();
}

bool LibsvmLine::TakePair(Pair* pair, std::string* error) {
  const std::string_view token = TakeToken();
  if (token.empty()) return false;
  const char* const end = token.data() + token.size();
  const auto [colon, failure] = std::from_chars(token.data(), end, pair->index);
  if (failure != std::errc() || colon == end || *colon != ':') {
    *error = BadPair(token);
    return false;
  }
  pair->digits = std::string_view(token.data(), colon - token.data());
  while (pair->digits.size() > 1 && pair->digits[0] == '0') pair->digits.remove_prefix(1);
  const std::string_view value(colon + 1, end - colon - 1);
  if (value.size() == 1 && value[0] == '1') {
    pair->value = 1;
  } else if (!ParseNumber(value, &pair->value)) {
    *error = BadPair(token);
    return false;
  }
  return true;
}

}  // namespace tessera
