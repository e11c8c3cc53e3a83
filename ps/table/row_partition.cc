#include "ps/table/row_partition.h"

#include <algorithm>
#include <cassert>
#include <limits>

#include "common/random.h"

namespace tessera {
namespace {

// Rows that cannot leave are passed over so often before a caller is told that none can; those that would have stayed anyway cost less.
constexpr int kPassedOverMax = 32;
constexpr int kHotPassedOverMax = 256;
// A part of the rows, at the front of each queue, is clean before its turn comes. The small queue is a tenth of them: a new row has some
// time to be read, and changed, again before it is written.
constexpr uint32_t kLeavingPart = 16;
// Entries of rows that were written since are kept while they are fewer than those of dirty rows and this.
constexpr uint64_t kStaleMax = 256;
constexpr size_t kSample = 64;
constexpr uint64_t kNotTheOldest = std::numeric_limits<uint64_t>::max();
// Rows to be written are asked for this many before they are looked at.
constexpr size_t kDirtyAhead = 16;

}  // namespace

void RowPartition::Init(uint32_t partition, RowSlabs* slabs, IndexMemory* index_memory, uint32_t rows_max) {
  index_.Init(index_memory, partition);
  slabs_ = slabs;
  rows_max_ = rows_max;
}

uint64_t RowPartition::bytes() const {
  return index_.bytes() + (index_.size() + free_.size()) * slabs_->row_bytes() + free_.capacity() * sizeof(uint32_t) +
         (small_.rows.size() + main_.rows.size() + ghosts_.size()) * sizeof(uint32_t) + (dirty_.size() + writing_.size()) * sizeof(DirtyRow);
}

uint32_t RowPartition::Insert(uint64_t id, uint64_t hash, bool must) {
  uint32_t number = kNone;
  // Twice: so rows that had to come in when none could leave are made up for.
  for (int i = 0; i < 2 && rows_max_ > 0 && index_.size() >= rows_max_; ++i) {
    const uint32_t victim = Victim();
    if (victim == kNone) break;
    Remove(victim, Mix64(At(victim)->id));
  }
  if (rows_max_ > 0 && index_.size() >= rows_max_ && !must) return kNone;
  if (!free_.empty()) {
    number = free_.back();
    free_.pop_back();
  } else {
    if (next_row_ == extent_end_) {
      next_row_ = slabs_->TakeExtent();
      extent_end_ = next_row_ + RowSlabs::kExtentRows;
    }
    number = next_row_++;
  }
  MemoryRow* const row = At(number);
  row->id = id;
  row->header = RowHeader();
  row->digest = 0;
  row->touched = 0;
  row->flags = static_cast<uint8_t>(MemoryRow::kUsed | (row->flags & MemoryRow::kQueued));
  row->heat.store(0, std::memory_order_relaxed);
  index_.Insert(hash, number);
  if (rows_max_ > 0) Enqueue(number, hash);
  return number;
}

void RowPartition::Enqueue(uint32_t row, uint64_t hash) {
  MemoryRow* const memory = At(row);
  if (memory->Is(MemoryRow::kQueued)) return;  // an earlier row's place in a queue that nobody has come to yet
  memory->Set(MemoryRow::kQueued);
  const bool was_here = !ghosts_.empty() && *Ghost(hash) == static_cast<uint32_t>(hash);
  if (was_here) *Ghost(hash) = 0;
  (was_here ? main_ : small_).rows.push_back(row);
}

uint32_t RowPartition::Queue::Pop() {
  const uint32_t row = rows.front();
  rows.pop_front();
  if (looked_at > 0) --looked_at;
  return row;
}

uint32_t RowPartition::Victim() {
  for (int passed_over = 0, hot = 0; passed_over < kPassedOverMax && hot < kHotPassedOverMax && small_.rows.size() + main_.rows.size() > 0;) {
    const bool from_small = main_.rows.empty() || small_.rows.size() * 10 >= rows_max_;
    Queue& queue = from_small && !small_.rows.empty() ? small_ : main_;
    const uint32_t number = queue.Pop();
    MemoryRow* const row = At(number);
    if (!row->Is(MemoryRow::kUsed)) {
      row->Clear(MemoryRow::kQueued);
      continue;
    }
    const bool must_stay = row->Is(MemoryRow::kDirty) || row->Is(MemoryRow::kWriting) || row->Is(MemoryRow::kGone);
    const uint8_t heat = row->heat.load(std::memory_order_relaxed);
    if (heat > 0) {
      row->heat.store(&queue == &small_ ? 0 : heat - 1, std::memory_order_relaxed);
      main_.rows.push_back(number);
      if (must_stay) ++hot;
      continue;
    }
    if (must_stay) {
      ++passed_over;
      queue.rows.push_back(number);
      continue;
    }
    row->Clear(MemoryRow::kQueued);
    if (&queue == &small_) {
      // Made when memory is full for the first time: large memory that stays half empty costs nothing at the start.
      if (ghosts_.empty()) ghosts_.resize(std::max<uint32_t>(rows_max_, 64));
      const uint64_t hash = Mix64(row->id);
      *Ghost(hash) = static_cast<uint32_t>(hash);
    }
    return number;
  }
  return kNone;
}

void RowPartition::Release(uint32_t row, uint64_t hash) {
  index_.Erase(hash, row);
  At(row)->flags &= MemoryRow::kQueued;
  free_.push_back(row);
}

void RowPartition::Remove(uint32_t row, uint64_t hash) {
  MemoryRow* const memory = At(row);
  assert(!memory->Is(MemoryRow::kWriting));
  if (memory->Is(MemoryRow::kDirty)) --dirty_count_;
  if (memory->Is(MemoryRow::kGone)) --gone_;
  Release(row, hash);
}

void RowPartition::Evict(uint32_t row, uint64_t hash, uint64_t lsn, uint64_t first_lsn) {
  MemoryRow* const memory = At(row);
  assert(!memory->Is(MemoryRow::kGone));
  if (!memory->Is(MemoryRow::kOnDisk) && !memory->Is(MemoryRow::kWriting)) {
    Remove(row, hash);
    return;
  }
  memory->Set(MemoryRow::kGone);
  ++gone_;
  memory->header.lsn = lsn;
  MarkDirty(row, first_lsn);
}

void RowPartition::Revive(uint32_t row) {
  MemoryRow* const memory = At(row);
  assert(memory->Is(MemoryRow::kGone));
  memory->Clear(MemoryRow::kGone);
  --gone_;
  memory->header = RowHeader();
}

void RowPartition::MarkDirty(uint32_t row, uint64_t first_lsn) {
  MemoryRow* const memory = At(row);
  if (memory->Is(MemoryRow::kDirty)) return;
  memory->Set(MemoryRow::kDirty);
  ++dirty_count_;
  // Nearly always the last: only a commit's rows count from its oldest stage on, which may be older than another record's rows.
  auto at = dirty_.end();
  while (at != dirty_.begin() && std::prev(at)->first_lsn > first_lsn) --at;
  dirty_.insert(at, {row, memory->writes, first_lsn});
}

bool RowPartition::IsCurrent(const DirtyRow& entry) const {
  const MemoryRow& row = *At(entry.row);
  return row.Is(MemoryRow::kDirty) && row.writes == entry.writes;
}

void RowPartition::Take(uint32_t row, uint64_t first_lsn, DirtyRow* dirty) {
  MemoryRow* const memory = At(row);
  *dirty = {row, memory->writes, first_lsn};
  memory->Clear(MemoryRow::kDirty);
  --dirty_count_;
  memory->Set(MemoryRow::kWriting);
  ++memory->writes;
  writing_.push_back(*dirty);
}

bool RowPartition::TakeDirty(uint64_t lsn_max, DirtyRow* dirty) {
  while (!dirty_.empty() && dirty_.front().first_lsn <= lsn_max) {
    const DirtyRow next = dirty_.front();
    // Two versions of one row are never on their way at once.
    if (IsCurrent(next) && At(next.row)->Is(MemoryRow::kWriting)) return false;
    dirty_.pop_front();
    if (dirty_.size() > kDirtyAhead) __builtin_prefetch(At(dirty_[kDirtyAhead].row));
    if (!IsCurrent(next)) continue;
    Take(next.row, next.first_lsn, dirty);
    return true;
  }
  return false;
}

bool RowPartition::TakeLeaving(DirtyRow* dirty) {
  if (rows_max_ == 0 || index_.size() + rows_max_ / kLeavingPart < rows_max_) return false;
  return TakeLeaving(&small_, dirty) || TakeLeaving(&main_, dirty);
}

bool RowPartition::TakeLeaving(Queue* queue, DirtyRow* dirty) {
  for (const size_t end = std::min<size_t>(queue->rows.size(), rows_max_ / kLeavingPart + 1); queue->looked_at < end;) {
    const uint32_t number = queue->rows[queue->looked_at++];
    if (queue->looked_at + kDirtyAhead < end) __builtin_prefetch(At(queue->rows[queue->looked_at + kDirtyAhead]));
    const MemoryRow& row = *At(number);
    if (!row.Is(MemoryRow::kUsed) || !row.Is(MemoryRow::kDirty) || row.Is(MemoryRow::kWriting)) continue;
    if (row.heat.load(std::memory_order_relaxed) > 0 && !row.Is(MemoryRow::kGone)) continue;
    Take(number, kNotTheOldest, dirty);
    return true;
  }
  return false;
}

bool RowPartition::TakeCold(uint64_t lsn_max, size_t* at, DirtyRow* dirty) {
  while (*at < dirty_.size()) {
    const DirtyRow entry = dirty_[(*at)++];
    if (*at + kDirtyAhead < dirty_.size()) __builtin_prefetch(At(dirty_[*at + kDirtyAhead].row));
    const MemoryRow& row = *At(entry.row);
    if (!IsCurrent(entry) || row.Is(MemoryRow::kWriting) || row.header.lsn > lsn_max) continue;
    Take(entry.row, kNotTheOldest, dirty);
    return true;
  }
  return false;
}

uint64_t RowPartition::LastChanged(double share) const {
  std::vector<uint64_t> changed;
  const size_t stride = dirty_.size() / kSample + 1;
  for (size_t i = 0; i < dirty_.size(); i += stride) {
    if (IsCurrent(dirty_[i])) changed.push_back(At(dirty_[i].row)->header.lsn);
  }
  if (changed.empty()) return 0;
  const size_t nth = std::min(changed.size() - 1, static_cast<size_t>(share * static_cast<double>(changed.size())));
  std::nth_element(changed.begin(), changed.begin() + static_cast<std::ptrdiff_t>(nth), changed.end());
  return changed[nth];
}

void RowPartition::Written(const DirtyRow& taken) {
  assert(writing_.front().row == taken.row);
  writing_.pop_front();
  MemoryRow* const row = At(taken.row);
  row->Clear(MemoryRow::kWriting);
  if (row->Is(MemoryRow::kGone) && !row->Is(MemoryRow::kDirty)) Remove(taken.row, Mix64(row->id));
  // Nobody waits for what is not the oldest, so entries of rows that were written could pile up behind one that never is.
  if (writing_.empty() && dirty_.size() > 2 * dirty_count_ + kStaleMax) {
    std::erase_if(dirty_, [this](const DirtyRow& entry) { return !IsCurrent(entry); });
  }
}

void RowPartition::NotWritten(const DirtyRow& taken) {
  assert(writing_.back().row == taken.row);
  writing_.pop_back();
  MemoryRow* const row = At(taken.row);
  row->Clear(MemoryRow::kWriting);
  if (!row->Is(MemoryRow::kDirty)) {
    row->Set(MemoryRow::kDirty);
    ++dirty_count_;
  }
  row->writes = taken.writes;  // its entry counts again
  if (taken.first_lsn != kNotTheOldest) dirty_.push_front(taken);
}

uint64_t RowPartition::OldestDirty() const {
  uint64_t oldest = std::numeric_limits<uint64_t>::max();
  if (!dirty_.empty()) oldest = dirty_.front().first_lsn;
  for (const DirtyRow& taken : writing_) oldest = std::min(oldest, taken.first_lsn);
  return oldest;
}

}  // namespace tessera
