// What is said of a run while it runs, made from the coordinator's report.
#pragma once

#include <string>

#include "absl/time/time.h"
#include "proto/coordinator.pb.h"
#include "proto/plan.pb.h"

namespace tessera {

// Rows per second over the last few looks. Owned by one thread.
class RateMeter {
 public:
  void Add(absl::Time now, uint64_t rows);
  double rows_per_second() const { return rate_; }

 private:
  absl::Time last_ = absl::InfinitePast();
  uint64_t rows_ = 0;
  double rate_ = 0;
};

// "epoch 2 of at most 10, 37 %, 41,300 rows/s, logloss 0.31201, at most 1 min 3 s left"
std::string ProgressText(const Report& report, const Plan& plan, double rows_per_second);
// "epoch 2, step 254: AUC 0.91034, logloss 0.31021 on 3,256 rows, training logloss 0.30011"
std::string EvaluationText(const EvaluationReport& evaluation);
// "32,561 rows in 1 file, 14 fields, 71,000 dense weights; deepfm of dim 16, sync, batch 256, at most 10 epochs"
std::string PlanText(const Plan& plan);

}  // namespace tessera
