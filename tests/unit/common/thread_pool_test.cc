#include "common/thread_pool.h"

#include <atomic>
#include <numeric>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace tessera {
namespace {

class ThreadPoolTest : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Threads, ThreadPoolTest, testing::Values(1, 2, 3, 8));

TEST_P(ThreadPoolTest, CallsEveryIndexOnce) {
  ThreadPool pool(GetParam());
  for (int64_t count : {0, 1, 2, 7, 1000}) {
    std::vector<std::atomic<int>> calls(count);
    pool.ParallelFor(count, [&](int64_t i) { calls[i].fetch_add(1); });
    for (int64_t i = 0; i < count; ++i) ASSERT_EQ(calls[i].load(), 1) << i << " of " << count;
  }
}

// Plain writes: the thread sanitizer sees whether the loop's end orders them before the reads.
TEST_P(ThreadPoolTest, WhatBodiesWroteIsSeenAfterTheLoop) {
  ThreadPool pool(GetParam());
  std::vector<int64_t> values(64);
  for (int64_t round = 0; round < 3000; ++round) {
    pool.ParallelFor(values.size(), [&](int64_t i) { values[i] += round + i; });
    ASSERT_EQ(values[63], (round + 1) * round / 2 + 63 * (round + 1));
  }
}

TEST_P(ThreadPoolTest, ALoopInsideALoopRunsToItsEnd) {
  ThreadPool pool(GetParam());
  std::vector<std::vector<int>> calls(20, std::vector<int>(50));
  pool.ParallelFor(20, [&](int64_t i) { pool.ParallelFor(50, [&](int64_t k) { ++calls[i][k]; }); });
  for (const std::vector<int>& row : calls) EXPECT_EQ(row, std::vector<int>(50, 1));
}

TEST_P(ThreadPoolTest, TwoCallersAtOnceEachGetAllOfTheirLoop) {
  ThreadPool pool(GetParam());
  std::vector<std::thread> callers;
  std::vector<int64_t> sums(2);
  for (int c = 0; c < 2; ++c) {
    callers.emplace_back([&pool, &sum = sums[c], c] {
      std::vector<int64_t> values(100);
      for (int round = 0; round < 500; ++round) pool.ParallelFor(100, [&](int64_t i) { values[i] += i * (c + 1); });
      sum = std::accumulate(values.begin(), values.end(), int64_t{0});
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sums[0], 4950 * 500);
  EXPECT_EQ(sums[1], 2 * 4950 * 500);
}

TEST(ThreadPoolLifeTest, APoolThatNeverRanEndsAtOnce) {
  for (int i = 0; i < 50; ++i) ThreadPool pool(4);
}

TEST(ThreadPoolLifeTest, EndsRightBehindALoop) {
  for (int i = 0; i < 200; ++i) {
    ThreadPool pool(3);
    std::atomic<int> calls{0};
    pool.ParallelFor(5, [&](int64_t) { calls.fetch_add(1); });
    ASSERT_EQ(calls.load(), 5);
  }
}

TEST(ThreadPoolLifeTest, FewerThanOneThreadIsOne) { EXPECT_EQ(ThreadPool(0).threads(), 1); }

}  // namespace
}  // namespace tessera
