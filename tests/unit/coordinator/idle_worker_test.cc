// A worker that is alive and does nothing, seen from the state machine alone: what is done about it hangs on whether a server held it up.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "common/limits.h"
#include "ps/coordinator/coordinator_state.h"
#include "tests/unit/coordinator/coordinator_fixture.h"

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// As long as a worker itself waits for a server, with its last calls.
const absl::Duration kLimit = absl::Minutes(5) + absl::Milliseconds(2 * kCallMs);

class IdleWorkerTest : public CoordinatorFixture {
 protected:
  // Two workers have their shares of the first step, and the first one has done its own.
  IdleWorkerTest() {
    script_.plan.mutable_job()->mutable_training()->set_workers(2);
    CoordinatorStart start;
    start.job = script_.plan.job();
    start.addresses = {"ps:7000", "ps:7001"};
    start.checkpoint_directory = checkpoints();
    state_.emplace(std::move(start), now_);
    for (int i = 0; i < 2; ++i) Join(&members_[i], i + 1);
    EXPECT_TRUE(Say(members_[0], Nothing()).has_survey());
    Say(members_[0], Survey());
    EXPECT_EQ(Take().kind, Order::Kind::kOpen);
    state_->Finish(order_, OrderResult(), now_);
    const Instruction first = Say(members_[0], Nothing());
    idle_ones_ = Say(members_[1], Nothing()).step();
    EXPECT_EQ(first.step().shares_size() + idle_ones_.shares_size(), 6);
    Compute(members_[0], first.step());
  }

  void Join(Member* member, uint64_t nonce) {
    JoinRequest request;
    request.set_nonce(nonce);
    request.set_name("host:" + std::to_string(nonce));
    JoinReply reply;
    EXPECT_TRUE(state_->Join(request, now_, &reply).ok());
    *member = {reply.worker(), reply.generation()};
  }
  Instruction Say(Member member, DoneRequest report) {
    report.set_worker(member.worker);
    report.set_generation(member.generation);
    report.set_incarnation(1);
    state_->Report(report, now_);
    state_->Poll(report, now_);
    Instruction next;
    state_->Answer(report, &next);
    return next;
  }
  void Compute(Member member, const StepTask& task) {
    for (const Assignment& share : task.shares()) {
      const uint64_t left = script_.share_rows[share.share()];
      DoneRequest report;
      ShareDone* done = report.mutable_share();
      done->set_step(task.decision().step() + 1);
      done->set_share(share.share());
      done->set_rows(std::min(left, share.rows_max()));
      done->mutable_position()->set_row(done->rows());
      done->mutable_position()->set_end(done->rows() == left);
      Say(member, report);
    }
  }
  Order Take() {
    const std::optional<Order> order = state_->TakeOrder();
    EXPECT_TRUE(order.has_value());
    order_ = order.has_value() ? order->number : 0;
    return order.value_or(Order());
  }
  // Both workers have their heartbeats.
  void Pass(absl::Duration time) {
    HeartbeatRequest request;
    for (const absl::Time end = now_ + time; now_ < end;) {
      now_ += absl::Seconds(1);
      for (const Member& member : members_) {
        request.set_worker(member.worker);
        request.set_generation(member.generation);
        state_->Heartbeat(request, now_);
      }
      state_->Tick(now_);
    }
  }
  // The look at the servers that follows.
  void Outwait() {
    Pass(kLimit);
    EXPECT_FALSE(state_->TakeOrder().has_value());
    Pass(absl::Seconds(1));
    const Order look = Take();
    EXPECT_EQ(look.kind, Order::Kind::kReturn);
    EXPECT_EQ(look.patience, absl::ZeroDuration());
    EXPECT_EQ(state_->MakeReport(now_).workers_lost(), 0);
  }

  absl::Time now_ = absl::FromUnixSeconds(1700000000);
  std::optional<CoordinatorState> state_;
  Member members_[2];
  StepTask idle_ones_;
  uint64_t order_ = 0;
};

TEST_F(IdleWorkerTest, IsGivenUpOnceAllServersAreSeenToBeThere) {
  Outwait();
  state_->Finish(order_, OrderResult(), now_);
  const Report report = state_->MakeReport(now_);
  EXPECT_EQ(report.state(), "training");
  EXPECT_EQ(report.workers_lost(), 1);
  EXPECT_THAT(report.events(), ElementsAre(AllOf(HasSubstr("step 0: worker 2 (host:2) is lost"), HasSubstr("no progress for 7m"))));
  EXPECT_TRUE(Say(members_[1], Nothing()).has_fenced());
  const StepTask taken_over = Say(members_[0], Nothing()).step();
  ASSERT_EQ(taken_over.shares_size(), 1);  // the others with its next calls
  EXPECT_EQ(taken_over.shares(0).share(), idle_ones_.shares(0).share());
}

TEST_F(IdleWorkerTest, IsNotGivenUpWhereItMayHaveWaitedForAServerThatIsAway) {
  Outwait();
  state_->Finish(order_, absl::UnavailableError("return: server 1 (ps:7001): nobody listens"), now_);
  const Report report = state_->MakeReport(now_);
  EXPECT_EQ(report.workers_lost(), 0);
  EXPECT_EQ(report.state(), "failed");
  EXPECT_THAT(report.message(), HasSubstr("server 1 (ps:7001)"));
}

TEST_F(IdleWorkerTest, IsNotGivenUpIfItGoesOnMeanwhile) {
  Outwait();
  Compute(members_[1], idle_ones_);
  state_->Finish(order_, OrderResult(), now_);
  const Report report = state_->MakeReport(now_);
  EXPECT_EQ(report.workers_lost(), 0);
  EXPECT_TRUE(Say(members_[1], Nothing()).has_step());
  EXPECT_TRUE(Say(members_[0], Nothing()).has_step());
}

TEST_F(IdleWorkerTest, ASecondLookComesOnlyAfterAsLongAgain) {
  Outwait();
  state_->Finish(order_, OrderResult(), now_);
  Pass(kLimit);
  EXPECT_FALSE(state_->TakeOrder().has_value());
}

}  // namespace
}  // namespace tessera
