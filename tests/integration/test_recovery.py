"""Daemons that are killed and come back: the job goes on, and in sync its result is the one without the fault, bit for bit."""
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
            self.start_server(shard)

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

    def without_fault(self, mode="sync"):
        """The outcome of the same job in one process; computed once."""
        if mode not in RecoveryCase.expected:
            os.mkdir(self.path("alone"))
            result = self.run_json("train", self.job, *SETTINGS, "--set", "training.workers=3", "--set", f"training.mode={mode}",
                                   cwd=self.path("alone"))
            RecoveryCase.expected[mode] = self.outcome(result)
        return RecoveryCase.expected[mode]


class ServerKillTest(RecoveryCase):
    def drill(self, kill_at, kills=1):
        expected = self.without_fault()
        cluster = Cluster(self, self.job)
        cluster.start(kill_at)
        report = cluster.finish()
        self.assertEqual(cluster.kills, kills)
        self.assertEqual(self.outcome(report), expected)
        self.assertEqual(report["rows"], 3 * ROWS)

    def test_server_1_while_it_stages(self):
        self.drill({1: "stage.logged:100"})

    def test_server_1_while_it_commits(self):
        self.drill({1: "commit.logged:30"})

    def test_server_0_after_a_decision_that_nobody_heard_of(self):
        self.drill({0: "coordinator.decided:40"})

    def test_server_0_while_it_commits(self):
        self.drill({0: "commit.logged:50"})

    def test_both(self):
        self.drill({0: "stage.logged:130", 1: "stage.logged:131"}, kills=2)


class WorkerLossTest(RecoveryCase):
    """In sync the others compute what a lost worker had, in the same step: the same bits."""

    def check(self, report, expected, **counts):
        self.assertEqual(self.outcome(report), expected)
        self.assertEqual(report["rows"], 3 * ROWS)
        for key, value in counts.items():
            self.assertEqual(report[key], value, f"{key}: {report['events']}")

    def kill(self, kill_at):
        expected = self.without_fault()
        cluster = Cluster(self, self.job)
        cluster.start(worker_kill_at={0: kill_at})
        victim = cluster.workers[0]
        report = cluster.finish(cluster.workers[1:])
        self.assertEqual(victim.wait(10), -signal.SIGKILL, cluster.log(victim)[-2000:])
        self.check(report, expected, workers_lost=1, workers_left=0)
        return report

    def test_killed_while_it_computes(self):
        report = self.kill("worker.share_computed:31")
        self.assertGreaterEqual(report["shares_again"], 1)
        self.assertIn("is lost: no heartbeat", report["events"][0])

    def test_killed_at_the_end_of_a_step(self):
        # All servers have its part of the step, and the coordinator does not know.
        self.assertGreaterEqual(self.kill("worker.share_done:44")["shares_again"], 1)

    def test_killed_when_it_is_to_score_the_last_state(self):
        self.kill("worker.evaluation:3")

    def test_a_new_process_of_the_same_identity_goes_on_at_once(self):
        expected = self.without_fault()
        cluster = Cluster(self, self.job)
        cluster.start(workers=2)
        first = cluster.start_worker("--identity", "pod-2", "--kill-at", "worker.share_computed:25")
        begin = time.monotonic()
        self.assertEqual(first.wait(60), -signal.SIGKILL)
        second = cluster.start_worker("--identity", "pod-2")
        report = cluster.finish([cluster.workers[0], cluster.workers[1], second])
        self.assertLess(time.monotonic() - begin, 25)  # not when the lease of 30 s ends
        self.check(report, expected, workers_lost=1, workers_left=0)
        self.assertIn("another process took its place", report["events"][0])

    def test_told_to_stop_it_leaves_at_once_and_says_so(self):
        expected = self.without_fault()
        cluster = Cluster(self, self.job)
        cluster.start(worker_kill_at={1: "worker.share_computed:20:TERM"})
        self.assertEqual(cluster.workers[1].wait(60), 1)
        report = cluster.finish([cluster.workers[0], cluster.workers[2]], timeout=25)  # not when the lease of 30 s ends
        self.check(report, expected, workers_lost=0, workers_left=1)
        self.assertIn("has left: it was told to stop", report["events"][0])

    def test_a_late_worker_learns_that_the_job_is_finished(self):
        cluster = Cluster(self, self.job, workers=1)
        cluster.start(workers=1)
        self.assertEqual(cluster.workers[0].wait(120), 0)
        late = cluster.start_worker()
        self.assertEqual(late.wait(30), 0)
        self.assertIn("job finished", cluster.log(late))
        cluster.finish()


class AsyncLossTest(RecoveryCase):
    """In async the task of a lost worker goes on where the servers have it; rows that are trained twice are counted."""

    def drill(self, point):
        cluster = Cluster(self, self.job, "--set", "training.mode=async")
        cluster.start(worker_kill_at={0: point})
        report = cluster.finish(cluster.workers[1:])
        self.assertEqual(cluster.workers[0].wait(10), -signal.SIGKILL)
        self.assertEqual(report["state"], "finished")
        self.assertEqual(report["rows"], 3 * ROWS, report["events"])
        self.assertEqual(report["workers_lost"], 1, report["events"])
        self.assertEqual(report["rows_twice"], 0, report["events"])  # it did not die in the middle of a push
        self.assertTrue(any("goes on at its row" in event for event in report["events"]), report["events"])

    def test_killed_in_the_middle_of_a_task(self):
        self.drill("worker.batch_computed:5")

    def test_killed_before_it_reports_a_task(self):
        self.drill("worker.task_done:2")


class StandstillTest(RecoveryCase):
    """A process that stands still for a minute in the middle of a step, and goes on."""

    def drill(self, child, cluster):
        with open(f"/proc/{child.pid}/stat") as stat:
            self.wait_for(lambda: (stat.seek(0), stat.read().split()[2])[1] == "T")
        time.sleep(60)
        child.send_signal(signal.SIGCONT)
        return cluster.finish()

    def test_a_worker_others_take_over_from(self):
        expected = self.without_fault()
        cluster = Cluster(self, self.job, "--set", "training.patience=3m")
        cluster.start(worker_kill_at={1: "worker.share_computed:20:STOP"})
        report = self.drill(cluster.workers[1], cluster)
        self.assertEqual(self.outcome(report), expected)
        self.assertEqual(report["workers_lost"], 1, report["events"])

    def test_a_server_all_wait_for(self):
        expected = self.without_fault()
        cluster = Cluster(self, self.job, "--set", "training.patience=3m")
        cluster.start({1: "stage.logged:100:STOP"})
        report = self.drill(cluster.servers[1], cluster)
        self.assertEqual(self.outcome(report), expected)
        self.assertEqual(report["workers_lost"], 0, report["events"])

    def test_the_server_that_holds_the_coordinator(self):
        expected = self.without_fault()
        cluster = Cluster(self, self.job, "--set", "training.patience=3m")
        cluster.start({0: "stage.logged:100:STOP"})
        report = self.drill(cluster.servers[0], cluster)
        self.assertEqual(self.outcome(report), expected)
        self.assertEqual(report["workers_lost"], 0, report["events"])


if __name__ == "__main__":
    harness.main()
