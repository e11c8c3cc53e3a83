#include "ps/coordinator/members.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tessera {
namespace {

using ::testing::IsEmpty;

class MembersTest : public ::testing::Test {
 protected:
  // As the owner thread does, several times a second.
  std::vector<const Members::Info*> TickUntil(absl::Duration since_start) {
    std::vector<const Members::Info*> ended;
    for (; now_ < start_ + since_start; now_ += absl::Seconds(1)) {
      for (const Members::Info* info : members_.Tick(now_)) ended.push_back(info);
    }
    return ended;
  }

  const absl::Time start_ = absl::FromUnixSeconds(1000);
  absl::Time now_ = start_;
  Members members_{absl::Seconds(30)};
};

TEST_F(MembersTest, ARepeatedJoinGivesTheSameGeneration) {
  const Member first = members_.Join(11, "a:1", now_)->member;
  const Member second = members_.Join(12, "b:1", now_)->member;
  EXPECT_EQ(members_.Join(11, "a:1", now_)->member, first);
  EXPECT_EQ(first.worker, 1);
  EXPECT_EQ(second.worker, 2);
  EXPECT_NE(first.generation, second.generation);
  EXPECT_EQ(members_.joined(), 2);
}

TEST_F(MembersTest, ALeaseEndsOnceItIsNotRenewed) {
  Members::Info* first = members_.Join(11, "a:1", now_);
  members_.Join(12, "b:1", now_);
  EXPECT_THAT(TickUntil(absl::Seconds(20)), IsEmpty());
  members_.Renew(first, now_);
  const std::vector<const Members::Info*> ended = TickUntil(absl::Seconds(40));
  ASSERT_EQ(ended.size(), 1);
  EXPECT_EQ(members_.Describe(ended[0]->member), "worker 2 (b:1)");
  EXPECT_EQ(members_.Live(), std::vector<Member>{first->member});
}

TEST_F(MembersTest, AFencedProcessComesBackUnderANewGeneration) {
  const Member before = members_.Join(11, "a:1", now_)->member;
  TickUntil(absl::Seconds(60));
  EXPECT_THAT(members_.Live(), IsEmpty());
  const Member after = members_.Join(11, "a:1", now_)->member;
  EXPECT_EQ(after.worker, before.worker);
  EXPECT_NE(after.generation, before.generation);
  EXPECT_EQ(members_.Find(before.worker, before.generation), nullptr);
}

TEST_F(MembersTest, TimeInWhichNobodyLookedIsNotHeldAgainstWorkers) {
  members_.Join(11, "a:1", now_);
  TickUntil(absl::Seconds(10));
  now_ += absl::Hours(1);  // this process stood still
  EXPECT_THAT(members_.Tick(now_), IsEmpty());
  EXPECT_THAT(TickUntil(absl::Hours(1) + absl::Seconds(25)), IsEmpty());
  EXPECT_EQ(TickUntil(absl::Hours(1) + absl::Seconds(60)).size(), 1);
}

}  // namespace
}  // namespace tessera
