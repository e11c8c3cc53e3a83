#include "common/rpc/grpc_options.h"

#include "grpc/support/log.h"

namespace tessera {

void QuietGrpc() {
  static const bool quiet = [] {
    gpr_set_log_function([](gpr_log_func_args*) {});
    return true;
  }();
  (void)quiet;
}

}  // namespace tessera
