// What the schema cannot say: ranges, values that need each other, values that exclude each other.
#pragma once

#include "common/job/job_draft.h"

namespace tessera {

// Refuses in the draft all that cannot be right whatever the data is. Files are not looked at.
void ValidateJob(JobDraft* draft);

}  // namespace tessera
