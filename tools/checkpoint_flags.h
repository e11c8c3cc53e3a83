// The arguments of commands that use a checkpoint.
#pragma once

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "worker/train/scoring.h"

namespace CLI {
class App;
}

namespace tessera {

struct CheckpointFlags {
  std::string checkpoint;
  std::vector<std::string> data;
  size_t batch_rows = kScoredRowsDefault;
  int threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
};

// Declares --checkpoint, --data, --batch and --threads. `flags` outlives the command.
void AddCheckpointFlags(CLI::App* command, bool data_required, CheckpointFlags* flags);

}  // namespace tessera
