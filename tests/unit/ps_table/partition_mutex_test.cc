#include "ps/table/partition_mutex.h"

#include <array>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace tessera {
namespace {

constexpr int kPartitionsHere = 4;
constexpr int kRounds = 20000;

// Two numbers that a writer changes one after the other.
struct Pair {
  PartitionMutex mutex;
  uint64_t a = 0;
  uint64_t b = 0;
};

class ReadGateTest : public ::testing::Test {
 protected:
  ReadGateTest() {
    for (Pair& pair : pairs_) pair.mutex.Join(&gate_);
  }
  ReadGate gate_;
  std::array<Pair, kPartitionsHere> pairs_;
};

TEST_F(ReadGateTest, ReadersOfAllPartitionsNeverSeeHalfAChangeAndNoChangeIsLost) {
  std::atomic<uint64_t> torn{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) {
        gate_.EnterReader();
        for (const Pair& pair : pairs_) torn += pair.a != pair.b;
        gate_.LeaveReader();
      }
    });
  }
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < kRounds; ++round) {
        Pair& pair = pairs_[(round + t) % kPartitionsHere];
        if (round % 7 == 0) {
          ReaderMutexLock lock(&pair.mutex);
          torn += pair.a != pair.b;
        }
        WriterMutexLock lock(&pair.mutex);
        ++pair.a;
        ++pair.b;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(torn, 0u);
  uint64_t sum = 0;
  for (const Pair& pair : pairs_) sum += pair.a;
  EXPECT_EQ(sum, 3u * kRounds);
}

TEST_F(ReadGateTest, WritersOfOtherPartitionsAndReadersOfOneDoNotWaitForAWriter) {
  WriterMutexLock first(&pairs_[0].mutex);
  std::thread([&] {
    {
      WriterMutexLock second(&pairs_[1].mutex);
      ++pairs_[1].a;
    }
    ReaderMutexLock third(&pairs_[2].mutex);
  }).join();
  EXPECT_EQ(pairs_[1].a, 1u);
}

TEST_F(ReadGateTest, ReadersDoNotWaitForEachOther) {
  gate_.EnterReader();
  std::thread([&] {
    gate_.EnterReader();
    gate_.LeaveReader();
  }).join();
  gate_.LeaveReader();
}

}  // namespace
}  // namespace tessera
