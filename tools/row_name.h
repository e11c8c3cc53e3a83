// The row that a person means by `field=token`.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/plan.pb.h"

namespace tessera {

// Id of the row that readers look up where the field holds the token: of a categorical column (a missing spelling names its row for "no
// value"), of a numeric one's bucket (`age=37`, `age.bucket=37`) or scaled row (`age.scaled=37`), of an index of libsvm (any field, or
// `index=37`). INVALID_ARGUMENT lists the fields there are. Thread-safe: a pure function.
absl::StatusOr<uint64_t> RowIdOf(const Plan& plan, absl::string_view name);

}  // namespace tessera
