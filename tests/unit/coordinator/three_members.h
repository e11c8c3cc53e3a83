// Members that tests speak as.
#pragma once

#include "ps/coordinator/members.h"

namespace tessera {

inline constexpr Member kFirst{1, 1}, kSecond{2, 2}, kThird{3, 3};

}  // namespace tessera
