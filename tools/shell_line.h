// A command to copy into a shell.
#pragma once

#include <string>
#include <vector>

namespace tessera {

// The words with blanks between, quoted where a shell would not take them as they are.
std::string ShellLine(const std::vector<std::string>& words);

}  // namespace tessera
