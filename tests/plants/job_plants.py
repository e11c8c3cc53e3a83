"""Bugs of whole jobs, for plant_bugs.py: each is found by the simulation with the seeds of the test suite. The fields are as there."""

SIMULATION = ("*KeepsWhatTheProtocolPromises*", "test_simulation")

PLANTS = {
    "job_push_twice": (
        "a push that comes twice is applied twice", "ps/server/ledger.cc",
        "return Verdict{true, entry.lsn(), entry.staleness()};", "return Verdict();", *SIMULATION),
    "job_told_before_written": (
        "a decision is told before it is written", "ps/coordinator/training_run.cc",
        "  sync_->Advance(std::move(outcome.decision));\n  ++changes_;\n", "  sync_->Advance(std::move(outcome.decision));\n", *SIMULATION),
    "job_last_step_not_sent": (
        "the last step before an evaluation is not sent to the servers", "ps/coordinator/boundary.cc",
        "  if (!training_->sync()) return OrderSave();\n", "  if (training_.has_value()) return OrderSave();\n", *SIMULATION),
    "job_unfenced": (
        "servers take pushes of a generation that was given up", "ps/server/ledger.cc",
        "  entry.set_fenced(true);\n", "", *SIMULATION),
    "job_leases_end_in_a_stall": (
        "all leases end when the coordinator stood still", "ps/coordinator/members.cc",
        "    info.lease_end += late_;\n", "", *SIMULATION),
    "job_old_life_goes_on": (
        "a worker that joins again keeps its old generation", "ps/coordinator/members.cc",
        "    info->member.generation = ++generations_;\n", "    if (info->member.generation == 0) info->member.generation = ++generations_;\n", *SIMULATION),
    "job_hand_over_forgotten": (
        "a restarted coordinator does not know who was given up", "ps/coordinator/members.cc",
        "    info.fenced = member.fenced();\n", "", *SIMULATION),
    "job_flag_not_sent_again": (
        "a restarted coordinator does not send a flagged decision again", "ps/coordinator/training_run_record.cc",
        "  boundary_ = {saved.evaluate(), saved.save(), saved.last()};\n", "", *SIMULATION),
    "job_generation_given_twice": (
        "a coordinator gives generations that its predecessor gave and did not write down", "ps/coordinator/members.h",
        "lease_(lease), gap_(gap), generations_(gap) {}", "lease_(lease), gap_(0), generations_(0) { (void)gap; }", *SIMULATION),
    "job_evaluation_twice": (
        "a repeated report of a part counts for another part", "ps/coordinator/evaluation.cc",
        "  const uint32_t part = done.part();\n", "  const uint32_t part = OpenPart(member).value_or(parts());\n", *SIMULATION),
    "job_former_incarnation": (
        "a report of work that all went back from counts", "ps/coordinator/events.cc",
        "  const bool current = request.incarnation() == incarnation_;", "  const bool current = true;", *SIMULATION),
    "job_late_save": (
        "a save that comes late replaces files that the manifest names", "ps/server/server_admin.cc",
        "    if (saved->lsn() == record.lsn()) {\n", "    if (record.lsn() > ~uint64_t{1}) {\n", *SIMULATION),
    "job_older_save": (
        "a server that lost what it had saved replaces the files", "ps/server/server_admin.cc",
        "    if (saved->lsn() > record.lsn()) {\n", "    if (saved->lsn() > ~uint64_t{1}) {\n", "RestoreTest.*", "test_ps_server"),
    "job_opened_again": (
        "a restarted server does not know a repeat of the call that opened it", "ps/server/shard_state.cc",
        "  request.set_asked_hash(HashOf(request));\n", "", *SIMULATION),
    "job_gap_is_a_bug": (
        "a server that lost pushes is not told from a worker that sends nonsense", "ps/server/ledger.cc",
        "  if (sequence > applied + 1) {\n", "  if (sequence > applied + 1 && applied > 1000000) {\n", *SIMULATION),
    "job_older_server_saved": (
        "a server that lost pushes is saved with the others", "ps/coordinator/training_run_tasks.cc",
        "  if (held >= reported) return absl::OkStatus();\n", "  if (held + 1000 >= reported) return absl::OkStatus();\n", *SIMULATION),
    "job_dead_not_asked": (
        "nobody looks whether servers have what a dead worker had reported", "ps/coordinator/phases.cc",
        "!held.ok()) return GoBack(held, now);", "held.code() == absl::StatusCode::kAborted) return GoBack(held, now);", "LostTasksTest.*", "test_coordinator"),
    "job_lost_rows_go_on": (
        "a lost task goes on where the server is that has most of it", "ps/coordinator/phases.cc",
        "done.end_row() < least->end_row()) least = done;", "done.end_row() > least->end_row()) least = done;", *SIMULATION),
    "job_room_per_attempt": (
        "room of the log is charged for each attempt of a share, so that the survivor finds none", "ps/server/shard_updates.cc",
        "  if (!steps_.IsTakenOver(request)) TESSERA_RETURN_IF_ERROR(", "  TESSERA_RETURN_IF_ERROR(", "RoomTest.*", "test_ps_server"),
    "job_room_of_others": (
        "what was staged again for one share takes the room of the others", "ps/server/shard_updates.cc",
        " + steps_.BytesAgain();", ";", "RoomTest.*", "test_ps_server"),
    "job_share_without_stage": (
        "a share is reported though one server never got its stage", "worker/client/shard_threads.cc",
        "    if (!status.ok()) return status;\n", "    if (!status.ok() && &status == &results_[0]) return status;\n", "*", "test_client"),
    "job_bound_not_kept": (
        "bounded lets a worker run ahead", "ps/coordinator/training_run_tasks.cc",
        "  pace.granted = clock - pace.slowest <= plan_->job().training().staleness();\n", "  pace.granted = true;\n", *SIMULATION),
}
