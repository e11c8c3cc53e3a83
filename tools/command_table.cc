// tessera table list, describe, get, evict: what is in the tables of a job.
#include <memory>
#include <optional>

#include "CLI/App.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/partition.h"
#include "common/status_macros.h"
#include "tools/asked_servers.h"
#include "tools/commands.h"
#include "tools/json.h"
#include "tools/text.h"

namespace tessera {
namespace {

struct TableFlags {
  TableSource source;
  std::string row;  // get
  bool dry_run = false;
  std::optional<uint64_t> rows, unused_steps;
  std::optional<uint32_t> unused_periods;
  std::optional<double> norm;
};

double HitRate(const TableStatus& table) {
  const double asked = static_cast<double>(table.hits() + table.misses());
  return asked > 0 ? static_cast<double>(table.hits()) / asked : 0;
}

std::string BytesText(uint64_t bytes) { return absl::StrFormat("%.1f MiB", static_cast<double>(bytes) / (1 << 20)); }

std::string TableText(const TableStatus& table) {
  const std::string hits = table.hits() + table.misses() > 0 ? PercentText(HitRate(table)) : "no pull yet";
  return absl::StrCat(table.name(), ": ", CountText(table.rows()), " rows, ", BytesText(table.memory_bytes()), " in memory, ",
                      BytesText(table.disk_bytes()), " on disk, hits ", hits, ", backlog ", CountText(table.dirty_rows()), " rows\n");
}

void WriteTable(const TableStatus& table, JsonWriter* json) {
  json->Fields(table).Key("hit_rate");
  if (table.hits() + table.misses() > 0) {
    json->Real(HitRate(table));
  } else {
    json->Null();
  }
}

absl::Status List(const TableFlags& flags, Output* output) {
  TESSERA_ASSIGN_OR_RETURN(const AskedServers cluster, AskedServers::Connect(flags.source));
  const TableStatus total = cluster.table->Total();
  output->Text(TableText(total));
  JsonWriter json;
  json.BeginObject().Key("tables").BeginArray().BeginObject();
  WriteTable(total, &json);
  output->SetJson(json.EndObject().EndArray().EndObject().Finish());
  return absl::OkStatus();
}

// Of a server that has one: a checkpoint and durability: checkpoint have none.
std::string LogText(const DurabilityStatus& log) {
  if (log.log_bytes_max() == 0) return log.mode() == DURABILITY_UNSPECIFIED ? "" : absl::StrCat(", ", Durability_Name(log.mode()));
  return absl::StrCat(", ", Durability_Name(log.mode()), ", log ", BytesText(log.log_bytes()), " of ", BytesText(log.log_bytes_max()), ", LSN ",
                      log.lsn(), " (durable ", log.durable_lsn(), ", needed ", log.needed_lsn(), "), replayed ",
                      CountText(log.replayed_records()), " records in ", TimeText(absl::Seconds(log.replay_seconds())));
}

std::string ServerText(const DescribeServerReply& server, const std::string& address) {
  const DurabilityStatus& log = server.durability();
  std::string text = absl::StrCat("server ", server.shard(), " (", address, "): step ", server.step(), ", ",
                                  CountText(server.table().rows()), " rows", LogText(log), "\n");
  if (!log.stalled().empty()) absl::StrAppend(&text, "  stalled: ", log.stalled(), "\n");
  return text;
}

absl::Status DescribeTable(const TableFlags& flags, Output* output) {
  TableSource source = flags.source;
  source.verify = !source.state.empty();  // a stopped server keeps nobody waiting
  TESSERA_ASSIGN_OR_RETURN(const AskedServers cluster, AskedServers::Connect(source));
  const TableStatus total = cluster.table->Total();
  output->Text(TableText(total));
  output->Text(absl::StrCat("inserted ", CountText(total.inserted()), " = ", CountText(total.rows()), " present + ", CountText(total.evicted()),
                            " evicted + ", CountText(total.refused()), " refused\n"));
  output->Text(absl::StrCat(CountText(total.memory_rows()), " rows in memory (at most ", BytesText(total.memory_bytes_max()), "), ",
                            CountText(total.disk_rows()), " on disk, written back at ", RateText(total.write_back_rows_per_second()), "\n"));
  JsonWriter json;
  json.BeginObject();
  WriteTable(total, &json);
  json.Key("servers").BeginArray();
  for (const DescribeServerReply& server : cluster.table->servers()) {
    output->Text(ServerText(server, cluster.addresses[server.shard()]));
    json.Message(server);
  }
  output->SetJson(json.EndArray().EndObject().Finish());
  return absl::OkStatus();
}

std::string FloatsText(const google::protobuf::RepeatedField<float>& values) {
  std::string text;
  for (const float value : values) absl::StrAppendFormat(&text, " %.9g", value);
  return text + "\n";
}

absl::Status Get(const TableFlags& flags, Output* output) {
  TESSERA_ASSIGN_OR_RETURN(const AskedServers cluster, AskedServers::Connect(flags.source));
  TESSERA_ASSIGN_OR_RETURN(const uint64_t id, cluster.RowId(flags.row));
  TESSERA_ASSIGN_OR_RETURN(const ServedTable::Row found, cluster.table->Get(id));
  const StoredRow& row = found.row;
  const std::string place = absl::StrFormat("%s: id %016x, partition %d, server %d", flags.row, id, row.partition(), found.server);
  if (!row.found()) {
    output->Text(absl::StrCat(place, ": no row, seen ", row.sightings(), " times\n"));
  } else {
    output->Text(absl::StrCat(place, row.in_memory() ? ", in memory\n" : ", on disk only\n"));
    output->Text(absl::StrFormat("last step %d, period %d, LSN %d, show %g, click %g\n", row.last_step(), row.period(), row.lsn(), row.show(),
                                 row.click()));
    output->Text(absl::StrCat("values", FloatsText(row.values()), "state ", FloatsText(row.state())));
  }
  output->SetJson(JsonWriter().BeginObject().Key("row").String(flags.row).Fields(row).Key("server").Number(found.server).EndObject().Finish());
  return absl::OkStatus();
}

// As the job's keys: a rule that would do something else than it says is refused.
absl::Status CheckRule(const TableFlags& flags) {
  if (flags.rows.value_or(kPartitions) < kPartitions) {
    return absl::InvalidArgumentError(absl::StrCat("--rows: ", *flags.rows, " is too few; give at least ", kPartitions, ", one for each partition"));
  }
  if (flags.unused_steps == 0) return absl::InvalidArgumentError("--unused-steps: must be more than 0");
  if (flags.unused_periods == 0) return absl::InvalidArgumentError("--unused-periods: must be more than 0");
  if (!(flags.norm.value_or(1) > 0)) return absl::InvalidArgumentError("--norm: must be a number above 0");
  return absl::OkStatus();
}

absl::Status Evict(const TableFlags& flags, Output* output) {
  if (const absl::Status status = CheckRule(flags); !status.ok()) return UsageError(status);
  Eviction rule;
  if (flags.rows.has_value()) rule.set_rows(*flags.rows);
  if (flags.unused_steps.has_value()) rule.set_unused_steps(*flags.unused_steps);
  if (flags.unused_periods.has_value()) rule.set_unused_periods(*flags.unused_periods);
  if (flags.norm.has_value()) rule.set_norm(*flags.norm);
  TESSERA_ASSIGN_OR_RETURN(const AskedServers cluster, AskedServers::Connect(flags.source));
  TESSERA_ASSIGN_OR_RETURN(const std::vector<uint64_t> ids, cluster.table->Evict(rule, flags.dry_run));
  JsonWriter json;
  json.BeginObject().Key("dry_run").Bool(flags.dry_run).Key("rows").Number(ids.size()).Key("ids").BeginArray();
  for (const uint64_t id : ids) {
    if (!output->json()) output->Text(absl::StrFormat("%016x\n", id));
    json.Number(id);
  }
  output->Text(absl::StrCat(CountText(ids.size()), flags.dry_run ? " rows would be evicted\n" : " rows evicted\n"));
  output->SetJson(json.EndArray().EndObject().Finish());
  return absl::OkStatus();
}

}  // namespace

void AddTable(CommandLine* line) {
  line->Describe("table", "What is in the tables of a job, running, stopped or saved");
  auto flags = std::make_shared<TableFlags>();
  const auto add = [&](const std::string& verb, const std::string& what, absl::Status (*run)(const TableFlags&, Output*)) {
    CLI::App* command = line->Add("table " + verb, what, [flags, run](Output* output) { return run(*flags, output); });
    command->add_option("--servers", flags->source.servers, "all servers of a running job, by shard")->type_name("HOST:PORT,...");
    command->add_option("--state", flags->source.state, "storage.directory of a job whose servers are stopped")->type_name("FOLDER");
    command->add_option("--checkpoint", flags->source.checkpoint, "a checkpoint, or a folder of them: its newest")->type_name("FOLDER");
    return command;
  };
  add("list", "Rows, memory, disk, hit rate and backlog of each table", List);
  add("describe", "All about the tables, and about each server; of stopped servers all files are checked", DescribeTable);
  add("get", "One row, by what stands in the data: item_id=42", Get)->add_option("row", flags->row, "field=token")->required()->type_name("FIELD=TOKEN");
  CLI::App* evict = add("evict", "Remove the rows that a rule names; without one, that of the job", Evict);
  evict->add_flag("--dry-run", flags->dry_run, "only list them");
  evict->add_option("--rows", flags->rows, "most rows, over all servers; those trained least recently go")->type_name("N");
  evict->add_option("--unused-steps", flags->unused_steps, "not trained for so many steps")->type_name("N");
  evict->add_option("--unused-periods", flags->unused_periods, "not seen for so many periods")->type_name("N");
  evict->add_option("--norm", flags->norm, "rows whose value is shorter than this")->type_name("X");
}

}  // namespace tessera
