// From the file patterns of a job to files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/plan.pb.h"

namespace tessera {

// Compares text with runs of digits as numbers: day_2 < day_10.
bool NaturalLess(std::string_view a, std::string_view b);

// Absolute paths of the files that `patterns` name (paths, or globs with * ? [..], where a backslash makes such a character an ordinary one), pattern by pattern, each in natural order, without
// repetitions and without those that an `exclude` glob matches. Errors name the pattern: one that matches no file, an exclude glob that
// excludes nothing, a directory, nothing left.
absl::StatusOr<std::vector<std::string>> ExpandFiles(const std::vector<std::string>& patterns, const std::vector<std::string>& exclude);

// DescribeFile of each (worker/data/input.h).
absl::StatusOr<google::protobuf::RepeatedPtrField<InputFile>> DescribeFiles(const std::vector<std::string>& paths);

}  // namespace tessera
