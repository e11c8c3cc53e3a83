#include "worker/compute/backend.h"

namespace tessera {

Buffer::~Buffer() {
  if (data_ != nullptr) backend_->Free(data_);
}

absl::Status Buffer::ReserveBytes(size_t bytes) {
  if (bytes <= bytes_ && data_ != nullptr) return absl::OkStatus();
  const size_t wanted = bytes + bytes / 8 + 64;  // batches differ a little in size: do not grow at each
  if (data_ != nullptr) backend_->Free(data_);
  data_ = nullptr;
  bytes_ = 0;
  absl::StatusOr<void*> data = backend_->Allocate(wanted);
  if (!data.ok()) return data.status();
  data_ = *data;
  bytes_ = wanted;
  return absl::OkStatus();
}

}  // namespace tessera
