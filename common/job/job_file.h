// Job files: YAML in, Job out, every error with its line and key path; and the defaults that fill what a file leaves open.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/job.pb.h"
#include "proto/plan.pb.h"

namespace tessera {

struct JobFile {
  Job job;                      // as given; paths absolute (those of the file relative to its folder); name defaults to the file's stem
  std::vector<Origin> origins;  // of every value given: "job.yaml:12" or "--set"
};

// Reads a file and applies `sets` ("training.batch_size=512") over it. All errors of the file at once, one a line:
// "adult.yaml:7: training.batchsize: no such key; did you mean batch_size?"
absl::StatusOr<JobFile> LoadJob(const std::string& path, const std::vector<std::string>& sets);
// The same for text already in memory; `path` is for messages and relative paths.
absl::StatusOr<JobFile> ParseJob(const std::string& text, const std::string& path, const std::vector<std::string>& sets);

// What defaults depend on.
struct DataSize {
  uint64_t rows = 0;         // training rows (an estimate for large data)
  uint64_t plain_bytes = 0;  // of the training files
};
// Fills every field that is absent (training.threads apart, which changes no result) and appends an Origin with source "default" and a
// reason for each. Storage and checkpoint folders default to runs/NAME/state and runs/NAME/checkpoints under the current folder.
void FillDefaults(const DataSize& size, Job* job, std::vector<Origin>* origins);

// The job as YAML, each line with a comment that says where its value came from.
std::string FormatJob(const Job& job, const std::vector<Origin>& origins);

// What differs between two plans of one job, a line each ("training.batch_size: 256, was 512", "adult.csv: content changed"); empty if
// `now` may go on from a checkpoint of `was`. Values that change no result (threads, workers when shares is equal, patience,
// storage.*, checkpoint.*) may differ. Origins are not compared.
std::vector<std::string> PlanDifferences(const Plan& now, const Plan& was);

}  // namespace tessera
