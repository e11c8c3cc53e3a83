// The coordinator's log: what it decided, before anyone hears of it. Lies in the state folder, beside the log of server 0.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "proto/coordinator_record.pb.h"
#include "ps/durability/push_log.h"

namespace tessera {

// Puts a record over what came before it. Pure.
void Fold(const CoordinatorRecord& record, CoordinatorRecord* whole);

// Thread-compatible.
class Journal {
 public:
  // Opens the log in `folder`, made if it is not there; `power`: what Append has returned for survives a loss of power too. `found` is what
  // all records come to, empty where there are none. DATA_LOSS names the file that is damaged.
  static absl::StatusOr<std::unique_ptr<Journal>> Open(const std::string& folder, bool power, CoordinatorRecord* found);

  // The record is durable once this returns OK. A whole record (with `opened`) makes those before it unnecessary: they are dropped.
  absl::Status Append(const CoordinatorRecord& record);
  // It has grown so much that a whole record would pay.
  bool IsLong() const;

 private:
  explicit Journal(std::string folder) : folder_(std::move(folder)) {}

  const std::string folder_;
  std::unique_ptr<PushLog> log_;
};

}  // namespace tessera
