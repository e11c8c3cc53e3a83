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

  Members::Info* Join(uint64_t nonce, const std::string& name, const std::string& identity = "") {
    JoinRequest request;
    request.set_nonce(nonce);
    request.set_name(name);
    request.set_identity(identity);
    absl::StatusOr<Members::Info*> info = members_.Join(request, now_);
    EXPECT_TRUE(info.ok()) << info.status();
    return *info;
  }

  const absl::Time start_ = absl::FromUnixSeconds(1000);
  absl::Time now_ = start_;
  Members members_{absl::Seconds(30)};
};

TEST_F(MembersTest, ARepeatedJoinGivesTheSameGeneration) {
  const Member first = Join(11, "a:1")->member;
  const Member second = Join(12, "b:1")->member;
  EXPECT_EQ(Join(11, "a:1")->member, first);
  EXPECT_EQ(first.worker, 1);
  EXPECT_EQ(second.worker, 2);
  EXPECT_NE(first.generation, second.generation);
  EXPECT_EQ(members_.joined(), 2);
}

TEST_F(MembersTest, ALeaseEndsOnceItIsNotRenewed) {
  Members::Info* first = Join(11, "a:1");
  Join(12, "b:1");
  EXPECT_THAT(TickUntil(absl::Seconds(20)), IsEmpty());
  members_.Renew(first, now_);
  const std::vector<const Members::Info*> ended = TickUntil(absl::Seconds(40));
  ASSERT_EQ(ended.size(), 1);
  EXPECT_EQ(members_.Describe(ended[0]->member), "worker 2 (b:1)");
  EXPECT_EQ(members_.Live(), std::vector<Member>{first->member});
}

TEST_F(MembersTest, AFencedProcessComesBackUnderANewGeneration) {
  const Member before = Join(11, "a:1")->member;
  TickUntil(absl::Seconds(60));
  EXPECT_THAT(members_.Live(), IsEmpty());
  const Member after = Join(11, "a:1")->member;
  EXPECT_EQ(after.worker, before.worker);
  EXPECT_NE(after.generation, before.generation);
  EXPECT_EQ(members_.Find(before.worker, before.generation), nullptr);
}

TEST_F(MembersTest, TimeInWhichNobodyLookedIsNotHeldAgainstWorkers) {
  Join(11, "a:1");
  TickUntil(absl::Seconds(10));
  now_ += absl::Hours(1);  // this process stood still
  EXPECT_THAT(members_.Tick(now_), IsEmpty());
  EXPECT_THAT(TickUntil(absl::Hours(1) + absl::Seconds(25)), IsEmpty());
  EXPECT_EQ(TickUntil(absl::Hours(1) + absl::Seconds(60)).size(), 1);
}

TEST_F(MembersTest, ANewProcessOfAnIdentityTakesThePlaceOfTheOldOne) {
  const Member before = Join(11, "a:1", "left")->member;
  EXPECT_NE(Join(12, "a:2", "right")->member.worker, before.worker);
  const Members::Info* after = Join(13, "a:3", "left");
  EXPECT_EQ(after->member.worker, before.worker);
  EXPECT_GT(after->member.generation, before.generation);
  EXPECT_EQ(members_.Find(before.worker, before.generation), nullptr);
  EXPECT_EQ(members_.Live().size(), 2);
  // A late repetition by the old process does not take the place back.
  JoinRequest late;
  late.set_nonce(11);
  late.set_identity("left");
  EXPECT_TRUE(absl::IsFailedPrecondition(members_.Join(late, now_).status()));
  EXPECT_EQ(Join(13, "a:3", "left")->member, after->member);
}

}  // namespace
}  // namespace tessera
