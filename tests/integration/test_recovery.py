"""Daemons that are killed and come back: the job goes on, and in sync its result is the one without the fault, bit for bit."""
import signal
import subprocess
import time

import harness
from cluster_case import Cluster, RecoveryCase, ROWS

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


class ReturnTest(RecoveryCase):
    """Training goes on within 5 seconds of a server's return, however long it was away."""

    def drill(self, shards, mode="sync"):
        cluster = Cluster(self, self.job, "--set", "training.epochs=100000", "--set", f"training.mode={mode}")
        cluster.start()
        steps = lambda: cluster.status()["total_steps"]
        self.wait_for(lambda: self.answers(cluster) and steps() > 20)
        for shard in shards:
            cluster.servers[shard].kill()
        for shard in shards:
            cluster.servers[shard].wait(30)
        time.sleep(8)  # the waits between attempts have grown to the longest
        begin = time.monotonic()
        for shard in shards:
            cluster.start_server(shard)
        self.wait_for(lambda: self.answers(cluster))
        before = steps()
        self.wait_for(lambda: steps() > before)
        took = time.monotonic() - begin
        print(f"training went on {took:.1f} s after the start of {shards} in {mode}")
        self.assertLess(took, 5)
        self.assertEqual(cluster.status()["workers_lost"], 0)

    def answers(self, cluster):
        done = subprocess.run([harness.program("tessera"), "cluster", "status", "--coordinator", cluster.addresses[0]], capture_output=True)
        return done.returncode == 0

    def test_of_server_1(self):
        self.drill([1])

    def test_of_server_0(self):
        self.drill([0])

    def test_of_both(self):
        self.drill([0, 1])

    def test_of_both_in_async(self):
        self.drill([0, 1], mode="async")


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
