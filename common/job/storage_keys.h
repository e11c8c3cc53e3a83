// The keys about what servers keep and how: storage, admission, eviction, and how rows start.
#pragma once

#include <string>

#include "absl/functional/function_ref.h"
#include "common/job/job_draft.h"
#include "proto/job.pb.h"

namespace tessera {

// Called with the key of a value that was filled in and the reason.
using NoteDefault = absl::FunctionRef<void(const std::string& key, const std::string& reason)>;

// Sets what is absent.
void FillStorage(Job* job, NoteDefault note);
void FillRowInitializer(Model* model, NoteDefault note);
// Refuses what is out of range.
void ValidateStorageKeys(JobDraft* draft);

}  // namespace tessera
