#!/usr/bin/env python3
"""Shows that the tests find the bugs they are there for: plants one at a time in a copy of the tree, builds, and expects a test to fail.

plant_bugs.py [NAME...]    from the root of the tree; by hand, some minutes. Exit code 1 if a planted bug was not found.
"""
import os
import shutil
import subprocess
import sys
import tempfile

import job_plants

# name: (what is planted, file, text there, text instead, tests that must fail, their program where it is not test_ps_server)
PLANTS = {
    "ledger_at_replay": (
        "replay consults the ledger instead of the row", "ps/server/shard_replay.cc",
        "      TESSERA_RETURN_IF_ERROR(\n          ReplayUpdate(*read, {&source, 1}",
        "      if (record.lsn > replay->counted_lsn) TESSERA_RETURN_IF_ERROR(\n          ReplayUpdate(*read, {&source, 1}",
        "*CrashModel.EveryAcknowledgedPush*"),
    "no_lsn_guard": (
        "replay applies a record whatever the row's lsn says", "ps/table/tiered_apply.cc",
        "      if (row->header.lsn >= rule.lsn) continue;", "      if (row->header.lsn > ~rule.lsn) continue;",
        "ReplayTest.*"),
    "out_of_order_apply": (
        "parts of two pushes are applied out of order in one partition", "ps/server/shard_updates.cc",
        '      FaultPoint("push.logged");\n      rule.lsn = lsn;\n',
        '      FaultPoint("push.logged");\n      rule.lsn = lsn;\n      update_mutex_.Unlock();\n      std::this_thread::yield();\n'
        '      struct Relock { Mutex* m; ~Relock() { m->Lock(); } } relock{&update_mutex_};\n',
        "ConcurrencyTest.NoPush*"),
    "truncate_before_flush": (
        "the log is shortened before rows are flushed", "ps/server/shard_upkeep.cc",
        "  TESSERA_RETURN_IF_ERROR(db_->Flush());\n", "", "*CrashModel*"),
    "l_without_dirty_rows": (
        "the log is shortened although rows are dirty", "ps/server/shard_upkeep.cc",
        "rows_->OldestDirty(), dense_->OldestDirty(), ", "dense_->OldestDirty(), ", "*CrashModel*"),
    "recompute_at_replay": (
        "admission and eviction are decided again at replay", "ps/server/shard_replay.cc",
        "rows_->Prepare(RowsOf(sources), with_rate, &facts)", "rows_->Prepare(RowsOf(sources), with_rate, nullptr)", "*CrashModel*policies*"),
    "eviction_not_dirty": (
        "an evicted row is brought back: its deletion does not count as dirty", "ps/table/row_partition.cc",
        "  memory->header.lsn = lsn;\n  MarkDirty(row, first_lsn);\n", "  memory->header.lsn = lsn;\n  (void)first_lsn;\n", "*CrashModel*policies*"),
    "stages_not_pinned": (
        "stages leave the log while rows of their commit are dirty", "ps/server/shard_updates.cc",
        "    rule.first_lsn = std::min(rule.first_lsn, lsn);\n", "    rule.first_lsn = lsn;\n", "*CrashModel.EveryAcknowledgedStage*"),
    "staged_not_needed": (
        "stages leave the log before their commit", "ps/server/shard_upkeep.cc",
        ", steps_.OldestStaged()});", "});", "*CrashModel.EveryAcknowledgedStage*"),
    "sketch_not_saved": (
        "sightings are not saved when the log is shortened", "ps/server/shard_upkeep.cc",
        "    sightings = rows_->SightingBytes();\n", "    sightings = std::string(rows_->SightingBytes().size(), '\\0');\n",
        "*CrashModel*policies*"),
    "retry_acked_early": (
        "power: a retry is acknowledged before its record is durable", "ps/server/shard_updates.cc",
        "    lsn = verdict.lsn;\n", "    lsn = 0;\n", "PowerTest.*"),
    "written_back_early": (
        "power: a row is written back before its record is durable", "ps/server/shard_upkeep.cc",
        "  return log_->Sync();\n}", "  return absl::OkStatus();\n}", "PowerTest.*"),
    "log_header_only": (
        "a segment without a sound header is taken for empty", "ps/durability/segment_scan.cc",
        "    LookBeyond(bytes, sizeof header, key, &scan);\n    return scan;", "    return scan;", "*LogDamageTest*Header*"),
    "log_renamed": (
        "a file that was being used again counts under its old number", "ps/durability/segment_scan.cc",
        "header.number == key.number ? SegmentScan::Header::kSound : SegmentScan::Header::kRenamed;", "SegmentScan::Header::kSound;",
        "*TornTailTest.AFileThatWas*:*LogDamageTest.SegmentsUnder*"),
    "log_beyond_first_only": (
        "a second hole hides what proves the first", "ps/durability/log_reader.cc",
        "    if (scan.beyond_lsn == 0) return absl::OkStatus();", "    if (scan.beyond_lsn == 0 || broken_) return absl::OkStatus();",
        "*LogDamageTest.DamageThat*"),
    "log_spare_kept": (
        "a file that could not be used again is tried again and again", "ps/durability/push_log.cc",
        "    spares_.pop_front();\n  }\n  TESSERA_ASSIGN", "  }\n  TESSERA_ASSIGN", "*LogDiskTest*"),
    "log_broken_append": (
        "what arrived of a record that broke off stays", "ps/durability/log_segment.cc",
        "    size_ = offset_;\n", "    offset_ += 8;\n", "PushLogTest.AnAppendThat*"),
    "log_gap": (
        "a missing segment is passed over", "ps/durability/log_reader.cc",
        "broken_ = record.lsn > next_lsn_ && record.lsn > first_lsn_;", "broken_ = false;", "*LogDamageTest.AMissing*"),
    "log_sync_early": (
        "a sync counts for records that came after it began", "ps/durability/push_log.cc",
        "NoteSync(status, target)", "NoteSync(status, target == 0 ? target : next_lsn_ - 1)", "LogSyncTest.WhoWaits*"),
    "log_sync_forgiven": (
        "a sync after one that failed is believed", "ps/durability/push_log.cc",
        "  sync_failure_.Update(status);\n  if (sync_failure_.ok())", "  if (!status.ok()) return status;\n  if (sync_failure_.ok())",
        "LogSyncTest.AfterASync*"),
    "log_drop_needed": (
        "a segment that ends with the oldest needed record goes", "ps/durability/push_log.cc",
        "closed_.front().last_lsn < needed_lsn", "closed_.front().last_lsn <= needed_lsn", "PushLogTest.WhatIsNeeded*"),
    "log_not_cut": (
        "what stands behind the last sound record is not cut off", "ps/durability/push_log.cc",
        "CutOff(log->PathOf(segment.number), segment.end)", "CutOff(log->PathOf(segment.number), fs::file_size(log->PathOf(segment.number)))",
        "LostPowerTest.*"),
    "damaged_row_is_fresh": (
        "a row that cannot be read counts as one that is not there", "ps/table/state_db.cc",
        "      if (!statuses[i].ok()) return impl_->Read(statuses[i]);\n", "      if (!statuses[i].ok()) continue;\n", "DamageTest.*"),
    "kept_not_compared": (
        "a database that lost its end is taken for a whole one", "ps/server/shard_state.cc",
        "  if (record.lsn() < kept) {", "  if (record.lsn() < kept / 1000) {", "DamageTest.ADatabase*"),
    "kept_too_early": (
        "an opening that broke off is taken for a state", "ps/server/shard_state.cc",
        "  if (!folder.empty()) TESSERA_RETURN_IF_ERROR(RemoveKept(folder));\n", "", "DamageTest.AnOpening*"),
    "damage_is_saved": (
        "a damaged file is linked into a checkpoint", "ps/table/state_db.cc",
        "  if (!impl_->verified) TESSERA_RETURN_IF_ERROR(Verify());\n", "", "DamageTest.ADamagedRow*"),
    "dropped_stage_comes_back": (
        "a replay finds the parts of a stage that was refused", "ps/server/shard_replay.cc",
        "        replay->Drop(header);\n", "", "*RefusedStageTest*"),
    "no_ledger": (
        "a push that comes twice is applied twice", "ps/server/ledger.cc",
        "return Verdict{true, entry.lsn(), entry.staleness()};", "return Verdict();", "*DeliveryTest.Lost*", "test_delivery"),
    "ledger_before_lock": (
        "a push is looked up in the ledger before those before it are applied", "ps/server/shard_updates.cc",
        '  FaultPoint("push.arrived");\n  Pushed pushed;\n  uint64_t lsn = 0;\n  {\n    MutexLock lock(&update_mutex_);\n'
        "    TESSERA_ASSIGN_OR_RETURN(const PushLedger::Verdict verdict, ledger_.Check(request.peer(), request.sequence()));\n",
        "  const auto early = ledger_.Check(request.peer(), request.sequence());\n"
        '  FaultPoint("push.arrived");\n  Pushed pushed;\n  uint64_t lsn = 0;\n  {\n    MutexLock lock(&update_mutex_);\n'
        "    TESSERA_ASSIGN_OR_RETURN(const PushLedger::Verdict verdict, early);\n",
        "*DeliveryTest.ADeadline*", "test_delivery"),
    "leaves_while_written": (
        "a row leaves memory while it is on its way to disk", "ps/table/row_partition.cc",
        "row->Is(MemoryRow::kDirty) || row->Is(MemoryRow::kWriting) ||", "row->Is(MemoryRow::kDirty) ||", "SoakTest.*"),
}


PLANTS.update(job_plants.PLANTS)


def program_of(path):
    """The tests that have to find a bug there."""
    return "test_ps_durability" if path.startswith("ps/durability/") else "test_ps_server"


def run(*command, cwd):
    return subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def plant(tree, name):
    what, path, old, new, tests, *program = PLANTS[name]
    program = program[0] if program else program_of(path)
    path = os.path.join(tree, path)
    sound = open(path, encoding="utf-8").read()
    if sound.count(old) != 1:
        return f"the place to plant it is there {sound.count(old)} times: {path}"
    with open(path, "w", encoding="utf-8") as file:
        file.write(sound.replace(old, new))
    try:
        built = run("cmake", "--build", "build", "--target", program, cwd=tree)
        if built.returncode != 0:
            return "does not compile:\n" + built.stdout[-2000:]
        tested = run(f"build/bin/{program}", f"--gtest_filter={tests}", "--gtest_fail_fast", cwd=tree)
        failed = [line for line in tested.stdout.splitlines() if line.startswith("[  FAILED  ]")]
        if tested.returncode == 0:
            return f"NOT FOUND by {tests}"
        print(f"{name}: {what}: found by {failed[0][13:].split(',')[0] if failed else 'the end of the process'}", flush=True)
        return ""
    finally:
        with open(path, "w", encoding="utf-8") as file:
            file.write(sound)


def main():
    root = os.getcwd()
    names = sys.argv[1:] or list(PLANTS)
    tree = tempfile.mkdtemp(prefix="tessera-plants-")
    try:
        run("git", "clone", "-q", root, tree, cwd=root)
        configured = run("cmake", "--preset", "release", cwd=tree)
        if configured.returncode != 0:
            sys.exit(configured.stdout)
        missed = 0
        for name in names:
            problem = plant(tree, name)
            if problem:
                missed += 1
                print(f"{name}: {problem}", flush=True)
        return 1 if missed else 0
    finally:
        shutil.rmtree(tree)


if __name__ == "__main__":
    sys.exit(main())
