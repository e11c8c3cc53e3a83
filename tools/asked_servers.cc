#include "tools/asked_servers.h"

#include <utility>

#include "absl/strings/str_split.h"
#include "common/clock.h"
#include "common/feature_id.h"
#include "common/rpc/parameter_server_client.h"
#include "common/status_macros.h"
#include "tools/command_line.h"
#include "tools/row_name.h"
#include "tools/stopped_servers.h"
#include "worker/coordinator_client.h"

namespace tessera {

absl::StatusOr<AskedServers> AskedServers::Connect(const TableSource& source) {
  if (!source.servers.empty() + !source.state.empty() + !source.checkpoint.empty() != 1) {
    return UsageError(absl::InvalidArgumentError("say whose table: --servers HOST:PORT,... or --state FOLDER or --checkpoint FOLDER"));
  }
  AskedServers asked;
  std::vector<ParameterServerApi*> apis;
  if (!source.checkpoint.empty()) {
    TESSERA_ASSIGN_OR_RETURN(asked.checkpoint, LoadedModel::Load(source.checkpoint, 1, 1, Clock::Real()));
    asked.addresses = {asked.checkpoint->folder()};
    apis.push_back(asked.checkpoint->server());
  } else if (!source.state.empty()) {
    asked.pool = std::make_unique<ThreadPool>(1);
    TESSERA_ASSIGN_OR_RETURN(std::vector<std::unique_ptr<Server>> servers, OpenStoppedServers(source.state, asked.pool.get()));
    for (std::unique_ptr<Server>& server : servers) asked.servers.push_back(std::move(server));
    asked.addresses.assign(asked.servers.size(), source.state);
  } else {
    asked.running = true;
    asked.addresses = absl::StrSplit(source.servers, ',', absl::SkipEmpty());
    for (const std::string& address : asked.addresses) {
      asked.servers.push_back(MakeParameterServerClient(static_cast<uint32_t>(asked.servers.size()), address));
    }
  }
  for (const std::unique_ptr<ParameterServerApi>& server : asked.servers) apis.push_back(server.get());
  TESSERA_ASSIGN_OR_RETURN(ServedTable table, ServedTable::Open(std::move(apis), source.verify));
  asked.table.emplace(std::move(table));
  return asked;
}

absl::StatusOr<uint64_t> AskedServers::RowId(const std::string& name) const {
  absl::StatusOr<uint64_t> id;
  if (checkpoint != nullptr) {
    id = RowIdOf(checkpoint->plan(), name);
  } else if (running) {
    DescribeJobRequest request;
    request.set_plan(true);
    Report report;
    TESSERA_RETURN_IF_ERROR(MakeCoordinatorClient(addresses[0])->DescribeJob(request, &report));
    if (!report.plan().has_job()) return absl::UnavailableError("the job has no plan yet; ask again once it trains");
    id = RowIdOf(report.plan(), name);
  } else {
    const std::vector<std::string> parts = absl::StrSplit(name, absl::MaxSplits('=', 1));
    if (parts.size() != 2) return UsageError(absl::InvalidArgumentError("write field=token, for example item_id=42"));
    return TokenHasher(parts[0]).Id(parts[1]);
  }
  if (!id.ok()) return UsageError(id.status());
  return id;
}

}  // namespace tessera
