// Reads a line of libsvm (svmlight) format: a label, then index:value pairs; '#' begins a comment.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tessera {

// Goes through a line token by token. Owned by one thread.
class LibsvmLine {
 public:
  explicit LibsvmLine(std::string_view line) : at_(line.data()), end_(line.data() + line.size()) {}

  // Whether it has nothing but a comment.
  bool IsComment() const;
  // The label's text, which must come first; empty when the line begins with a pair or has nothing.
  std::string_view TakeLabel();

  struct Pair {
    std::string_view digits;  // of the index, without leading zeros
    uint64_t index;
    float value;
  };
  // The next pair; false at the end, or with `error` set when the token is none.
  bool TakePair(Pair* pair, std::string* error);

 private:
  std::string_view TakeToken();
  const char* at_;
  const char* const end_;
};

}  // namespace tessera
