// Locks of partitions, and a gate that lets many threads read a group of them at the price of one atomic step each way.
//
// A lock per partition costs a batch of a few thousand ids as many atomic steps as it has partitions, on memory that all readers write to:
// a tenth of the time of two readers, more with more. Here a thread that reads counts itself in memory that few others write to, and whoever
// changes a partition looks at all these counts (a "big reader" lock, as in Dice and Kogan, BRAVO, 2019).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <shared_mutex>

#include "absl/base/thread_annotations.h"

namespace tessera {

// Readers exclude writers and the other way round; writers exclude only each other's partitions, by PartitionMutex. Thread-safe.
// A writer that has come lets no further reader in.
class ReadGate {
 public:
  void EnterReader() {
    std::atomic<uint32_t>& readers = readers_[Slot()].count;
    for (;;) {
      readers.fetch_add(1);
      // In one order with a writer's two steps: it sees this reader, or this reader sees it.
      const uint32_t writers = writers_.load();
      if (writers == 0) return;
      LeaveReader();
      writers_.wait(writers);
    }
  }
  void LeaveReader() {
    std::atomic<uint32_t>& readers = readers_[Slot()].count;
    readers.fetch_sub(1);
    if (writers_.load() != 0) readers.notify_all();
  }
  void EnterWriter() {
    writers_.fetch_add(1);
    for (Readers& readers : readers_) {
      for (uint32_t count = readers.count.load(); count != 0; count = readers.count.load()) readers.count.wait(count);
    }
  }
  void LeaveWriter() {
    writers_.fetch_sub(1);
    writers_.notify_all();
  }

 private:
  static constexpr uint32_t kSlots = 8;
  // Each thread keeps to one.
  static uint32_t Slot() {
    static std::atomic<uint32_t> threads{0};
    thread_local const uint32_t slot = threads.fetch_add(1, std::memory_order_relaxed) % kSlots;
    return slot;
  }
  struct alignas(64) Readers {
    std::atomic<uint32_t> count{0};
  };
  std::array<Readers, kSlots> readers_;
  alignas(64) std::atomic<uint32_t> writers_{0};
};

// Many readers or one writer of one partition. Whoever reads through the gate needs no lock of a partition behind it.
class ABSL_LOCKABLE PartitionMutex {
 public:
  // Before any use.
  void Join(ReadGate* gate) { gate_ = gate; }

  void WriterLock() ABSL_EXCLUSIVE_LOCK_FUNCTION() {
    mutex_.lock();
    gate_->EnterWriter();
  }
  void WriterUnlock() ABSL_UNLOCK_FUNCTION() {
    gate_->LeaveWriter();
    mutex_.unlock();
  }
  void ReaderLock() ABSL_SHARED_LOCK_FUNCTION() { mutex_.lock_shared(); }
  void ReaderUnlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock_shared(); }

 private:
  std::shared_mutex mutex_;
  ReadGate* gate_ = nullptr;
};

class ABSL_SCOPED_LOCKABLE ReaderMutexLock {
 public:
  explicit ReaderMutexLock(PartitionMutex* mutex) ABSL_SHARED_LOCK_FUNCTION(mutex) : mutex_(mutex) { mutex_->ReaderLock(); }
  ~ReaderMutexLock() ABSL_UNLOCK_FUNCTION() { mutex_->ReaderUnlock(); }
  ReaderMutexLock(const ReaderMutexLock&) = delete;
  ReaderMutexLock& operator=(const ReaderMutexLock&) = delete;

 private:
  PartitionMutex* const mutex_;
};

class ABSL_SCOPED_LOCKABLE WriterMutexLock {
 public:
  explicit WriterMutexLock(PartitionMutex* mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) : mutex_(mutex) { mutex_->WriterLock(); }
  ~WriterMutexLock() ABSL_UNLOCK_FUNCTION() { mutex_->WriterUnlock(); }
  WriterMutexLock(const WriterMutexLock&) = delete;
  WriterMutexLock& operator=(const WriterMutexLock&) = delete;

 private:
  PartitionMutex* const mutex_;
};

}  // namespace tessera
