#include "worker/train/failed_work.h"

#include "gtest/gtest.h"

namespace tessera {
namespace {

using Verdict = FailedWork::Verdict;

const absl::Status kOver = absl::AbortedError("server 0: step over: the task is not this worker's any more");
const absl::Status kClosed = absl::FailedPreconditionError("server 1: wrong peer: incarnation 2 is open");
const absl::Status kLost = absl::DataLossError("server 1: state lost: push 2 comes next here");

TEST(FailedWorkTest, WorkThatIsOutOfDateIsAskedAboutAndALossIsTold) {
  FailedWork work;
  EXPECT_EQ(work.Judge(kOver, 1, 10), Verdict::kAskAgain);
  EXPECT_EQ(work.Judge(kClosed, 1, 11), Verdict::kAskAgain);
  EXPECT_EQ(work.Judge(kLost, 1, 12), Verdict::kLost);
}

TEST(FailedWorkTest, AnythingElseEndsTheWorker) {
  FailedWork work;
  EXPECT_EQ(work.Judge(absl::DataLossError("rows.csv:7: not a number"), 1, 10), Verdict::kEnd);
  EXPECT_EQ(work.Judge(absl::AbortedError("given up"), 1, 10), Verdict::kEnd);
  EXPECT_EQ(work.Judge(kOver, 0, 0), Verdict::kEnd) << "before there was any work";
}

TEST(FailedWorkTest, TheSameWorkMayBeGivenAgainButNotForEver) {
  FailedWork work;
  EXPECT_EQ(work.Judge(kLost, 1, 10), Verdict::kLost);
  EXPECT_EQ(work.Judge(kLost, 1, 10), Verdict::kLost) << "the coordinator was killed before it wrote that all go back";
  int times = 2;
  while (times < 100 && work.Judge(kOver, 1, 10) == Verdict::kAskAgain) ++times;
  EXPECT_LT(times, 20);
  EXPECT_EQ(work.Judge(kOver, 2, 10), Verdict::kAskAgain) << "another incarnation";
}

TEST(FailedWorkTest, WorkThatWasDoneBetweenBeginsTheCountAnew) {
  FailedWork work;
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(work.Judge(kOver, 1, 10), Verdict::kAskAgain);
    work.Forget();
  }
}

}  // namespace
}  // namespace tessera
