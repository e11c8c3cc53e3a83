#include "common/rpc/grpc_options.h"

#include <cstdlib>

#include "grpc/support/log.h"

namespace tessera {

void QuietGrpc() {
  static const bool quiet = [] {
    if (std::getenv("GRPC_VERBOSITY") == nullptr) gpr_set_log_function([](gpr_log_func_args*) {});
    return true;
  }();
  (void)quiet;
}

}  // namespace tessera
