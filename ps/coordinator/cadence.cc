#include "ps/coordinator/cadence.h"

#include <cmath>

namespace tessera {

bool IsDue(const Cadence& every, const Progress& before, const Progress& after, absl::Time last, absl::Time now) {
  switch (every.every_case()) {
    case Cadence::kSteps:
      return every.steps() > 0 && after.steps / every.steps() > before.steps / every.steps();
    case Cadence::kEpochs:
      return every.epochs() > 0 && std::floor(after.epochs / every.epochs()) > std::floor(before.epochs / every.epochs());
    case Cadence::kMs:
      return every.ms() > 0 && now - last >= absl::Milliseconds(every.ms());
    case Cadence::EVERY_NOT_SET:
      return false;
  }
  return false;
}

}  // namespace tessera
