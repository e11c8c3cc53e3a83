// What the system says of a process's memory.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"

namespace tessera {

struct ProcessMemory {
  uint64_t resident_bytes = 0;
  uint64_t highest_bytes = 0;  // that resident_bytes ever was
};

// Zeros when the process is gone.
inline ProcessMemory MemoryOf(pid_t pid) {
  ProcessMemory memory;
  std::ifstream status(absl::StrCat("/proc/", pid, "/status"));
  uint64_t kb = 0;
  for (std::string word; status >> word;) {
    if (word == "VmRSS:" && status >> kb) memory.resident_bytes = kb << 10;
    if (word == "VmHWM:" && status >> kb) memory.highest_bytes = kb << 10;
  }
  return memory;
}

}  // namespace tessera
