// The arguments of commands that use a checkpoint.
#pragma once

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

namespace CLI {
class App;
}

namespace tessera {

struct CheckpointFlags {
  std::string checkpoint;
  std::vector<std::string> data;
  int threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
};

// Declares --checkpoint, --data and --threads. `flags` outlives the command.
void AddCheckpointFlags(CLI::App* command, bool data_required, CheckpointFlags* flags);

}  // namespace tessera
