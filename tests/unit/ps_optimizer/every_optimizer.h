// The optimisers of a job, each with its defaults.
#pragma once

#include <string>
#include <vector>

#include "proto/job.pb.h"

namespace tessera {

inline std::vector<Optimizer> EveryOptimizer() {
  std::vector<Optimizer> all;
  const auto* const kinds = Optimizer::descriptor()->oneof_decl(0);
  for (int i = 0; i < kinds->field_count(); ++i) Optimizer::GetReflection()->MutableMessage(&all.emplace_back(), kinds->field(i));
  return all;
}

inline std::string NameOf(const Optimizer& optimizer) {
  return Optimizer::descriptor()->FindFieldByNumber(optimizer.kind_case())->name();
}

}  // namespace tessera
