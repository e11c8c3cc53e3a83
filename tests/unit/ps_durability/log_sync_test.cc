// Who waits until a record is on disk, and who does not.
#include <fcntl.h>

#include <atomic>
#include <thread>

#include "absl/time/time.h"
#include "common/mutex.h"
#include "tests/unit/ps_durability/log_fixture.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

constexpr absl::Duration kPatience = absl::Seconds(60);

class LogSyncTest : public LogTest {
 protected:
  LogSyncTest() {
    options_.power = true;
    options_.segment_bytes = 1u << 20;
  }
  ~LogSyncTest() override {
    Release();
    for (std::thread& thread : threads_) thread.join();
  }

  // From now on syncs are counted, and the first one waits for Release before it begins.
  void HoldFirstSync() {
    SetFaultPoint([this](absl::string_view point) {
      if (point == "log.synced") ++synced_;
      if (point != "log.sync" || ++begun_ > 1) return;
      MutexLock lock(&mutex_);
      holding_ = true;
      changed_.SignalAll();
      while (!released_) changed_.WaitWithTimeout(&mutex_, kPatience);
    });
  }
  void AwaitHeld() {
    MutexLock lock(&mutex_);
    while (!holding_) changed_.WaitWithTimeout(&mutex_, kPatience);
  }
  void Release() {
    MutexLock lock(&mutex_);
    released_ = true;
    changed_.SignalAll();
  }
  // A thread that waits for a record, and how many syncs had ended when it was let go.
  void WaitInThread(uint64_t lsn, std::atomic<int>* seen) {
    threads_.emplace_back([this, lsn, seen] {
      const absl::Status status = log_->WaitDurable(lsn, kPatience);
      EXPECT_TRUE(status.ok()) << status;
      EXPECT_GE(log_->durable_lsn(), lsn);
      seen->store(synced_);
    });
  }
  void JoinAll() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  std::atomic<int> begun_{0};
  std::atomic<int> synced_{0};
  std::vector<std::thread> threads_;
  Mutex mutex_;
  CondVar changed_;
  bool holding_ ABSL_GUARDED_BY(mutex_) = false;
  bool released_ ABSL_GUARDED_BY(mutex_) = false;
};

TEST_F(LogSyncTest, WhoWaitsIsLetGoOnlyByASyncThatBeganAfterItsRecordAndOneServesAll) {
  ASSERT_TRUE(Open().ok());
  HoldFirstSync();
  AppendMany(1);
  std::atomic<int> first{-1};
  std::atomic<int> others[5] = {};
  WaitInThread(1, &first);
  AwaitHeld();
  // These come while the first sync is on its way: it does not cover them.
  AppendMany(5);
  for (uint64_t i = 0; i < 5; ++i) WaitInThread(2 + i, &others[i]);
  EXPECT_EQ(log_->durable_lsn(), 0u);
  const absl::Status late = log_->WaitDurable(6, absl::Milliseconds(1));
  EXPECT_TRUE(absl::IsDeadlineExceeded(late)) << late;
  EXPECT_THAT(std::string(late.message()), HasSubstr(options_.folder));
  EXPECT_EQ(first, -1);
  Release();
  JoinAll();
  EXPECT_GE(first, 1);
  for (const std::atomic<int>& seen : others) EXPECT_GE(seen, 2);
  EXPECT_EQ(begun_, 2) << "one sync for all five";
  EXPECT_EQ(synced_, 2);
  EXPECT_EQ(log_->durable_lsn(), 6u);
}

TEST_F(LogSyncTest, ARecordSaysWhatWasDurableWhenItWasWritten) {
  ASSERT_TRUE(Open().ok());
  AppendMany(2);
  ASSERT_TRUE(log_->WaitDurable(2, kPatience).ok());
  AppendMany(2);
  log_.reset();
  std::vector<uint64_t> durable;
  const auto keep = [&](const LogRecord& record) {
    durable.push_back(record.durable_lsn);
    return absl::OkStatus();
  };
  ASSERT_TRUE(PushLog::Scan(options_, 1, keep).ok());
  EXPECT_THAT(durable, ::testing::ElementsAre(0, 0, 2, 2));
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(log_->durable_lsn(), 4u) << "what was read is durable";
}

TEST_F(LogSyncTest, ASegmentIsOnDiskBeforeTheNextBegins) {
  options_.segment_bytes = 1000;
  ASSERT_TRUE(Open().ok());
  uint64_t durable = 0;
  SetFaultPoint([&](absl::string_view point) {
    if (point == "log.begin_segment") durable = appended_.size();
  });
  while (appended_.size() < 40) {
    ASSERT_TRUE(Append(100).ok());
    ASSERT_EQ(log_->durable_lsn(), durable);
  }
  EXPECT_GT(durable, 20u);
}

TEST_F(LogSyncTest, ManyAtATimeEachWaitForTheirOwn) {
  options_.segment_bytes = 1u << 14;
  ASSERT_TRUE(Open().ok());
  constexpr int kThreads = 4, kEach = 60;
  for (int t = 0; t < kThreads; ++t) {
    threads_.emplace_back([this, t] {
      for (int i = 0; i < kEach; ++i) {
        const std::string body = absl::StrCat(t, " ", i, std::string(200, '.'));
        const absl::string_view piece = body;
        const absl::StatusOr<uint64_t> lsn = log_->Append(LogKind::kPush, {&piece, 1});
        ASSERT_TRUE(lsn.ok()) << lsn.status();
        const absl::Status status = log_->WaitDurable(*lsn, kPatience);
        ASSERT_TRUE(status.ok()) << status;
        ASSERT_GE(log_->durable_lsn(), *lsn);
      }
    });
  }
  JoinAll();
  ASSERT_TRUE(Open().ok());
  ASSERT_EQ(replayed_.size(), static_cast<size_t>(kThreads * kEach));
  std::map<char, int> next;
  for (const Logged& record : replayed_) {
    int i = -1;
    ASSERT_EQ(std::sscanf(record.body.c_str() + 2, "%d", &i), 1);
    EXPECT_EQ(i, next[record.body[0]]++) << "each thread's records stand in its order";
  }
}

TEST_F(LogSyncTest, ProcessNeedsNoSync) {
  options_.power = false;
  options_.segment_bytes = 1000;
  int syncs = 0;
  ASSERT_TRUE(Open().ok());
  SetFaultPoint([&](absl::string_view point) { syncs += point == "log.sync"; });
  for (int i = 0; i < 40; ++i) {
    ASSERT_TRUE(Append(100).ok());
    ASSERT_TRUE(log_->WaitDurable(log_->next_lsn() - 1, absl::ZeroDuration()).ok());
    EXPECT_EQ(log_->durable_lsn(), log_->next_lsn() - 1);
  }
  ASSERT_TRUE(log_->Sync().ok());
  EXPECT_EQ(syncs, 0);
}

// A system may drop what it could not write and then call the next sync a success: nothing may be believed after the first failure.
TEST_F(LogSyncTest, AfterASyncThatFailedNothingIsDurableAnyMore) {
  ASSERT_TRUE(Open().ok());
  AppendMany(2);
  ASSERT_TRUE(log_->WaitDurable(2, kPatience).ok());
  AppendMany(2);
  // Behind the log's back its file becomes a pipe, of which no system takes a sync.
  int file = -1, kept = -1, ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  for (int fd = 3; fd < 1024 && file < 0; ++fd) {
    std::error_code error;
    if (std::filesystem::read_symlink(absl::StrCat("/proc/self/fd/", fd), error) == Segments().back()) file = fd;
  }
  ASSERT_GE(file, 0);
  kept = ::dup(file);
  ASSERT_EQ(::dup2(ends[1], file), file);
  const absl::Status failed = log_->WaitDurable(4, kPatience);
  ASSERT_EQ(::dup2(kept, file), file);
  for (int fd : {kept, ends[0], ends[1]}) ::close(fd);
  EXPECT_FALSE(failed.ok());
  EXPECT_THAT(std::string(failed.message()), HasSubstr(Segments().back()));
  EXPECT_EQ(log_->WaitDurable(4, kPatience), failed);
  EXPECT_EQ(log_->WaitDurable(3, kPatience), failed);
  EXPECT_EQ(Append(100), failed);
  EXPECT_EQ(log_->durable_lsn(), 2u);
  EXPECT_TRUE(log_->WaitDurable(2, kPatience).ok());
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(replayed_, appended_);
  AppendMany(1);
  EXPECT_TRUE(log_->Sync().ok());
}

}  // namespace
}  // namespace tessera
