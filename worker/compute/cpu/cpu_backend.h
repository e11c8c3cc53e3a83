// The reference backend: oneDNN for matrix products, plain vector loops for the rest, on the process's one thread pool.
#pragma once

#include <memory>

#include "common/thread_pool.h"
#include "worker/compute/backend.h"

namespace tessera {

// Work is cut by shape alone, so results do not depend on the pool's threads. `pool` outlives the backend and may be shared.
std::unique_ptr<Backend> MakeCpuBackend(ThreadPool* pool);

}  // namespace tessera
