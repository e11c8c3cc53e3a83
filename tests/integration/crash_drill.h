// Load, the end of the server, a new start, a look whether all is there: again and again.
#pragma once

#include <cstdint>
#include <string>

#include "proto/job.pb.h"

namespace tessera {

struct DrillOptions {
  std::string program;  // tessera-ps
  std::string folder;   // to work in
  std::string mode;     // async: workers side by side; ordered: one; sync: in step
  Durability durability = Durability::process;
  uint64_t kills = 0;
  uint64_t seed = 1;
  uint32_t workers = 3;      // async
  uint64_t first_point = 0;  // where in the list of fault points to begin
};

// Prints one line of figures for each fault point, then a summary. Returns the exit code of the program.
int RunDrill(const DrillOptions& options);

}  // namespace tessera
