// Looks at a run through its coordinator and tells a person about it: one line that is drawn over on a terminal, a line per event
// elsewhere.
#pragma once

#include <fstream>
#include <string>

#include "common/clock.h"
#include "common/coordinator_api.h"
#include "tools/progress.h"
#include "tools/run_folder.h"

namespace tessera {

// Writes to stderr and to the run's log; keeps the effective job of the run folder. Owned by one thread.
class RunWatch {
 public:
  RunWatch(CoordinatorApi* coordinator, const RunFolder* folder, Clock* clock);
  ~RunWatch();

  // Asks for the report and says what is new in it. An error is the coordinator's.
  absl::Status Look();
  // A line of the caller's own, also into the log.
  void Tell(const std::string& line);
  // Into the log alone.
  void Log(const std::string& line);
  // Takes the progress line off the terminal, before others write to it.
  void Erase();

  // As of the last look.
  const Report& report() const { return report_; }
  // Empty (no job) until the data were surveyed.
  const Plan& plan() const { return plan_; }
  bool planned() const { return plan_.has_job(); }

 private:
  void Draw();

  CoordinatorApi* const coordinator_;
  const RunFolder* const folder_;
  Clock* const clock_;
  const bool terminal_;
  std::ofstream log_;
  Report report_;
  Plan plan_;
  RateMeter rate_;
  int evaluations_told_ = 0;
  uint64_t refusals_told_ = 0;
  bool drawn_ = false;
};

}  // namespace tessera
