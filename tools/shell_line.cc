#include "tools/shell_line.h"

#include "absl/strings/str_join.h"

namespace tessera {

std::string ShellLine(const std::vector<std::string>& words) {
  return absl::StrJoin(words, " ", [](std::string* out, const std::string& word) {
    if (!word.empty() && word.find_first_of(" \t\n'\"[]{}*?$&;|<>()\\#~`!") == std::string::npos) {
      out->append(word);
      return;
    }
    out->push_back('\'');
    for (char c : word) c == '\'' ? out->append("'\\''") : out->append(1, c);
    out->push_back('\'');
  });
}

}  // namespace tessera
