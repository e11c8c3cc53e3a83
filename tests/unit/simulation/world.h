// A world of its own: time, chance, and a network between processes, all a function of one seed. One thread.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/clock.h"
#include "common/random.h"

namespace tessera {

// Whoever calls can be sent to. Its process may be gone, or stand still.
struct Process {
  bool up = false;
  absl::Time stalled_until;
};

// Events happen in the order of their times; at one time in the order they were made.
class World : public Clock {
 public:
  explicit World(uint64_t seed) : random_(MixKey(seed, 1)) {
    // Some networks are fast and sound, some are neither.
    delay_ms_ = 1 << random_.Below(9);
    trouble_percent_ = random_.Below(4) * 4;
  }

  absl::Time Now() const override { return now_; }
  // The one who waits like this is the coordinator's owner; the others go on meanwhile.
  void SleepFor(absl::Duration duration) override { RunUntil(now_ + duration); }

  void At(absl::Duration after, std::function<void()> what) { events_.push({now_ + after, made_++, std::move(what)}); }
  void RunUntil(absl::Time end) {
    while (!events_.empty() && events_.top().time <= end) RunNext();
    now_ = std::max(now_, end);
  }
  bool RunNext() {
    if (events_.empty()) return false;
    Event event = std::move(const_cast<Event&>(events_.top()));
    events_.pop();
    now_ = std::max(now_, event.time);
    event.what();
    return true;
  }

  uint64_t Below(uint64_t bound) { return random_.Below(bound); }
  bool Chance(uint64_t percent) { return random_.Below(100) < percent; }
  absl::Duration Delay() { return absl::Microseconds(random_.Below(delay_ms_ * 2000)); }
  absl::Duration Within(absl::Duration longest) { return longest * UniformDouble(random_.Next()); }
  // A message meets with an accident. None does once it is calm.
  bool Trouble() { return !calm_ && Chance(trouble_percent_); }
  void Calm() { calm_ = true; }
  // No message ever does.
  bool sound() const { return trouble_percent_ == 0; }

  // What happened last, for people.
  void Trace(const std::string& line) {
    constexpr size_t kLinesMax = 400;
    trace_.push_back(absl::StrFormat("%9.3f %s", absl::ToDoubleSeconds(now_ - absl::UnixEpoch()), line));
    if (trace_.size() > kLinesMax) trace_.pop_front();
  }
  std::string trace() const {
    std::string all;
    for (const std::string& line : trace_) absl::StrAppend(&all, line, "\n");
    return all;
  }
  // The first thing that must not be.
  void Violate(const std::string& what) {
    Trace(absl::StrCat("VIOLATION: ", what));
    if (violation_.empty()) violation_ = what;
  }
  const std::string& violation() const { return violation_; }

  // Sends a request to a process, which `handle`s it and answers when it likes; `done` hears of it once: of the answer, or that there is none. A
  // request may be lost, come late (its sender has given up), or twice; an answer may be lost.
  template <class Request, class Reply>
  void Send(Process* to, const Request& request, std::function<void(const Request&, std::function<void(const absl::Status&, const Reply&)>)> handle,
            absl::Duration timeout, std::function<void(const absl::Status&, const Reply&)> done) {
    const auto open = std::make_shared<bool>(true);
    const auto finish = [open, done](const absl::Status& status, const Reply& reply) {
      if (!std::exchange(*open, false)) return;
      done(status, reply);
    };
    At(timeout, [finish] { finish(absl::DeadlineExceededError("no answer"), Reply()); });
    if (!Trouble()) return Deliver<Request, Reply>(to, request, handle, Delay(), finish, Trouble());
    switch (Below(3)) {
      case 0: return At(Within(absl::Seconds(2)), [finish] { finish(absl::UnavailableError("lost"), Reply()); });
      case 1:
        At(Within(absl::Seconds(2)), [finish] { finish(absl::UnavailableError("late"), Reply()); });
        return Deliver<Request, Reply>(to, request, handle, Within(absl::Seconds(6)), [](const absl::Status&, const Reply&) {}, false);
      default:
        Deliver<Request, Reply>(to, request, handle, Within(absl::Seconds(6)), [](const absl::Status&, const Reply&) {}, false);
        return Deliver<Request, Reply>(to, request, handle, Delay(), finish, false);
    }
  }

 private:
  template <class Request, class Reply>
  void Deliver(Process* to, Request request, std::function<void(const Request&, std::function<void(const absl::Status&, const Reply&)>)> handle,
               absl::Duration after, std::function<void(const absl::Status&, const Reply&)> finish, bool answer_lost) {
    At(after, [=, this] {
      if (!to->up) return At(Delay(), [finish] { finish(absl::UnavailableError("nobody listens"), Reply()); });
      if (now_ < to->stalled_until) return Deliver<Request, Reply>(to, request, handle, to->stalled_until - now_, finish, answer_lost);
      handle(request, [=, this](const absl::Status& status, const Reply& reply) {
        if (answer_lost) return At(Within(absl::Seconds(2)), [finish] { finish(absl::UnavailableError("the answer was lost"), Reply()); });
        At(Delay(), [=] { finish(status, reply); });
      });
    });
  }

  struct Event {
    absl::Time time;
    uint64_t number;
    std::function<void()> what;
    bool operator<(const Event& other) const { return std::pair(other.time, other.number) < std::pair(time, number); }
  };
  absl::Time now_ = absl::UnixEpoch();
  uint64_t made_ = 0;
  std::priority_queue<Event> events_;
  RandomSequence random_;
  uint64_t delay_ms_ = 1;
  uint64_t trouble_percent_ = 0;
  bool calm_ = false;
  std::deque<std::string> trace_;
  std::string violation_;
};

}  // namespace tessera
