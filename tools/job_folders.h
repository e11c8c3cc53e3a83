// Where a job keeps its state and its checkpoints, who holds them, and how they are put aside.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "proto/job.pb.h"
#include "ps/state_lock.h"

namespace tessera {

struct JobFolders {
  std::string state;        // absolute, as is the other, unless the current folder was removed
  std::string checkpoints;
};

JobFolders FoldersOf(const Job& job);

// Takes the state folder's lock for `owner`. With `fresh`, state and checkpoints of earlier runs are renamed to NAME.old-TIME first;
// their new paths are added to `moved`. Refused while another process holds the state.
absl::StatusOr<StateLock> TakeFolders(const JobFolders& folders, const std::string& owner, bool fresh, Clock* clock,
                                      std::vector<std::string>* moved);

// Renames back what TakeFolders moved, in place of what was made since. For a run that failed before it began: its job or data was wrong.
absl::Status PutBack(const std::vector<std::string>& moved);

}  // namespace tessera
