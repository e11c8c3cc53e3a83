// Where a key of the job stands, for messages.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "proto/plan.pb.h"

namespace tessera {

// "job.yaml:12: features[2].match": the place of the key, of what is below it, or else of the nearest key above it, then the key itself.
// For a key that no origin speaks of: the file alone, or nothing where the job was not read from one.
std::string KeyPlace(const std::vector<Origin>& origins, absl::string_view key);

}  // namespace tessera
