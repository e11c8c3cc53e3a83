// The folder of one run, runs/NAME/TIME: every file of it is named here.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/clock.h"

namespace tessera {

//   job.yaml            the effective job, each line with where its value came from
//   log                 what happened, a line each
//   summary.json        what `train --json` and `cluster run --json` print
//   server-0.log ...    output of the daemons, where there are any
class RunFolder {
 public:
  // Makes a folder that did not exist before, below runs/ in the current folder.
  static absl::StatusOr<RunFolder> Create(const std::string& name, Clock* clock);

  const std::string& path() const { return path_; }  // relative to the current folder
  std::string JobPath() const { return path_ + "/job.yaml"; }
  std::string LogPath() const { return path_ + "/log"; }
  std::string SummaryPath() const { return path_ + "/summary.json"; }
  std::string ServerLogPath(uint32_t shard) const;
  std::string WorkerLogPath(uint32_t worker) const;

  // Replaces a file of the folder; a failure is logged, for a run is not ended by its paper work.
  void Write(const std::string& path, absl::string_view text) const;

 private:
  explicit RunFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace tessera
