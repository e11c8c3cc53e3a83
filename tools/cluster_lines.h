// The command lines that make a cluster of one job on this machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/job_flags.h"

namespace tessera {

struct ClusterLines {
  std::vector<std::string> addresses;             // of the servers; the first one has the coordinator
  std::vector<std::vector<std::string>> servers;  // words of each line; the first is the program's path
  std::vector<std::vector<std::string>> workers;
};

// Servers get free ports of the loopback interface. The programs are those beside this one. `flags` has training.workers already.
absl::StatusOr<ClusterLines> MakeClusterLines(const JobFlags& flags, uint32_t servers, uint32_t workers);

}  // namespace tessera
