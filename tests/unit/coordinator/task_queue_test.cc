#include "ps/coordinator/task_queue.h"

#include <algorithm>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/coordinator/three_members.h"

namespace tessera {
namespace {

TEST(TaskQueueTest, BlocksAreCountedFileByFile) {
  Plan plan;
  plan.mutable_job()->mutable_data()->mutable_block_bytes()->set_bytes(100);
  for (const uint64_t bytes : {0, 1, 100, 101}) plan.add_train()->set_plain_bytes(bytes);
  EXPECT_EQ(BlockCount(plan), 0 + 1 + 1 + 2);
}

TEST(TaskQueueTest, TheSlowestOfThoseWithATaskIsTheMeasureAndWhoJoinsStartsThere) {
  TaskQueue queue(0, 1 << 20);
  queue.StartEpoch({{0, 100}});
  const std::vector<Member> all = {kFirst, kSecond, kThird};
  EXPECT_EQ(queue.SlowestClock(all, 42), 42);
  EXPECT_EQ(queue.HandOut(kFirst, all, 1, 10)->clock, 10);
  EXPECT_EQ(queue.HandOut(kSecond, all, 1, 3)->clock, 10) << "it was without a task, and held up nobody";
  EXPECT_TRUE(queue.SetClock(kFirst, 17));
  EXPECT_TRUE(queue.SetClock(kFirst, 12)) << "a late repeat";
  EXPECT_FALSE(queue.SetClock(kThird, 1));
  EXPECT_EQ(queue.SlowestClock(all, 0), 10);
  EXPECT_THAT(queue.Slowest(), testing::ElementsAre(kSecond));
  EXPECT_EQ(queue.SlowestClock({{kFirst}}, 0), 17) << "who is lost holds up nobody";
  EXPECT_EQ(queue.HandOut(kThird, all, 1, 30)->clock, 30) << "who is ahead stays so";
  queue.Done(queue.Outstanding(kSecond)->task);
  EXPECT_EQ(queue.SlowestClock(all, 0), 17);
}

TEST(TaskQueueTest, TasksCoverEveryBlockOnceAndShrink) {
  TaskQueue queue(0, 1 << 20);
  queue.StartEpoch({{0, 100}});
  uint64_t next = 0, last_size = 100, task = 0;
  while (!queue.EpochOver()) {
    const Member member = task % 2 == 0 ? kFirst : kSecond;
    const TaskQueue::Entry* entry = queue.HandOut(member, {kFirst, kSecond}, 1, 0);
    ASSERT_NE(entry, nullptr);
    EXPECT_EQ(entry->task, ++task);
    EXPECT_EQ(entry->run.first, next);
    EXPECT_EQ(entry->stride, 2);
    const uint64_t size = entry->run.last - entry->run.first;
    EXPECT_EQ(size, std::min<uint64_t>(100 - next, std::max<uint64_t>(3, (100 - next) / 8)));
    EXPECT_LE(size, last_size);
    EXPECT_GE(size, std::min<uint64_t>(100 - next, 100 / 32));
    last_size = size;
    next = entry->run.last;
    EXPECT_TRUE(queue.Done(entry->task).has_value());
  }
  EXPECT_EQ(next, 100);
  EXPECT_LE(last_size, 3);
  EXPECT_EQ(queue.HandOut(kFirst, {kFirst, kSecond}, 1, 0), nullptr);
}

TEST(TaskQueueTest, ATaskIsBoundedHoweverManyBlocksThereAre) {
  TaskQueue queue(0, 1 << 20);
  queue.StartEpoch({{0, 1000000}});
  EXPECT_EQ(queue.HandOut(kFirst, {kFirst}, 1, 0)->run.last, kTaskBytesMax >> 20);
}

TEST(TaskQueueTest, ARepeatedReportChangesNothing) {
  TaskQueue queue(5, 1 << 20);
  queue.StartEpoch({{0, 1}});
  const uint64_t task = queue.HandOut(kFirst, {kFirst}, 1, 0)->task;
  EXPECT_EQ(task, 6);
  EXPECT_FALSE(queue.Idle());
  EXPECT_FALSE(queue.EpochOver());
  EXPECT_EQ(queue.Outstanding(kFirst)->task, task);
  EXPECT_TRUE(queue.Done(task).has_value());
  EXPECT_FALSE(queue.Done(task).has_value());
  EXPECT_TRUE(queue.EpochOver());
}

TEST(TaskQueueTest, ASavedQueueGoesOnWhereItWas) {
  TaskQueue queue(0, 1 << 20);
  queue.StartEpoch({{0, 10}});
  queue.Done(queue.HandOut(kFirst, {kFirst}, 1, 0)->task);
  TaskQueue restored(queue.tasks(), 1 << 20);
  restored.StartEpoch(queue.OpenRuns());
  const TaskQueue::Entry* expected = queue.HandOut(kFirst, {kFirst}, 1, 0);
  const TaskQueue::Entry* entry = restored.HandOut(kFirst, {kFirst}, 1, 0);
  EXPECT_EQ(entry->task, expected->task);
  EXPECT_EQ(entry->run.first, expected->run.first);
  EXPECT_EQ(entry->run.last, expected->run.last);
}

}  // namespace
}  // namespace tessera
