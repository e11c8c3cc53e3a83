"""Clusters of real daemons in tests: servers that come back, workers, and the outcome without faults."""
import json
import os
import signal
import subprocess
import time

import harness
from harness import Case

# 1,500 rows in steps of 64: 24 steps an epoch, an evaluation and a checkpoint after each.
SETTINGS = ["--set", "training.epochs=3", "--set", "training.batch_size=64", "--set", "model.hidden=[16]", "--set", "model.embedding_dim=4",
            "--set", "training.shares=6", "--set", "model.dropout=0.2", "--set", "training.patience=60s", "--set", "data.block_bytes=16KiB"]
ROWS = 1500


class Cluster:
    """Two servers and three workers of a job; a server that was killed is started again, without its --kill-at."""

    def __init__(self, case, job, *settings, servers=2, workers=3):
        self.case, self.job, self.settings = case, job, [*SETTINGS, "--set", f"training.workers={workers}", *settings]
        self.addresses = [f"127.0.0.1:{harness.free_port()}" for _ in range(servers)]
        self.servers, self.workers, self.kills = [None] * servers, [], 0
        self.away, self.kill_again = 0, {}  # seconds until a killed server is started again; by shard, where it is killed then

    def start_server(self, shard, *flags):
        self.servers[shard] = self.case.start("tessera-ps", "--job", self.job, *self.settings, "--shard", shard, "--servers",
                                              ",".join(self.addresses), *flags)

    def start_worker(self, *flags):
        self.workers.append(self.case.start("tessera-worker", "--coordinator", self.addresses[0], "--threads", 1, *flags))
        return self.workers[-1]

    def start(self, kill_at=None, workers=3, worker_kill_at=None):
        for shard in range(len(self.servers)):
            self.start_server(shard, *(["--kill-at", kill_at[shard]] if kill_at and shard in kill_at else []))
        for i in range(workers):
            self.start_worker(*(["--kill-at", worker_kill_at[i]] if worker_kill_at and i in worker_kill_at else []))

    def log(self, child):
        with open(child.log, "rb") as f:
            return f.read().decode(errors="replace")

    def raise_servers(self):
        for shard, server in enumerate(self.servers):
            if server.poll() is None:
                continue
            self.case.assertEqual(server.returncode, -signal.SIGKILL, self.log(server)[-4000:])
            self.kills += 1
            time.sleep(self.away)  # how long it stays away is what is tested
            again = self.kill_again.get(shard, [])
            self.start_server(shard, *(["--kill-at", again.pop(0)] if again else []))

    def finish(self, survivors=None, timeout=180):
        """Until all workers (or those given) have left; returns the report."""
        survivors = self.workers if survivors is None else survivors
        deadline = time.monotonic() + timeout
        while any(worker.poll() is None for worker in survivors):
            self.case.assertLess(time.monotonic(), deadline, self.log(self.servers[0])[-3000:] + self.log(survivors[0])[-3000:])
            self.raise_servers()
            time.sleep(0.05)
        for worker in survivors:
            self.case.assertEqual(worker.returncode, 0, self.log(worker)[-4000:] + self.log(self.servers[0])[-4000:])
        self.raise_servers()
        report = self.status()
        for server in self.servers:
            self.case.stop(server)
        return report

    def status(self):
        out = subprocess.run([harness.program("tessera"), "cluster", "status", "--coordinator", self.addresses[0], "--json"],
                             capture_output=True, timeout=60)
        self.case.assertEqual(out.returncode, 0, out.stderr.decode())
        return json.loads(out.stdout)


class RecoveryCase(Case):
    expected = {}

    def setUp(self):
        super().setUp()
        self.job = self.small_adult(ROWS)

    def outcome(self, report):
        return {key: report[key] for key in ("state", "content_digest", "train_logloss", "evaluation", "total_rows", "total_steps")}

    def without_fault(self, mode="sync", *more):
        """The outcome of the same job in one process; computed once."""
        which = (mode, *more)
        if which not in RecoveryCase.expected:
            os.mkdir(self.path("alone"))
            flags = [flag for value in ["training.workers=3", f"training.mode={mode}", *more] for flag in ("--set", value)]
            RecoveryCase.expected[which] = self.outcome(self.run_json("train", self.job, *SETTINGS, *flags, cwd=self.path("alone")))
        return RecoveryCase.expected[which]
