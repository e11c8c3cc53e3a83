// Who holds the gate, and that nobody holds it for ever.
#include "ps/server/gate.h"

#include <new>

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(GateTest, WhoIsThrownOutLeavesToo) {
  Gate gate(absl::ZeroDuration());
  EXPECT_THROW(
      {
        if (!gate.EnterShared()) return;
        const SharedPass inside(&gate);
        throw std::bad_alloc();
      },
      std::bad_alloc);
  EXPECT_THROW(
      {
        if (!gate.EnterExclusive("a save")) return;
        const ExclusivePass inside(&gate);
        throw std::bad_alloc();
      },
      std::bad_alloc);
  const bool empty = gate.EnterExclusive("a commit");
  EXPECT_TRUE(empty);
  if (empty) gate.LeaveExclusive();
}

}  // namespace
}  // namespace tessera
