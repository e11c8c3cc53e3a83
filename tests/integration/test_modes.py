"""All three modes with real daemons: servers that are killed again and again, workers that are slow, data of odd shapes."""
import signal
import threading

import harness
from cluster_case import Cluster, RecoveryCase, ROWS
from harness import Case

MODES = {"sync": ["training.mode=sync"], "bounded": ["training.mode=bounded", "training.staleness=2"], "async": ["training.mode=async"]}


def settings(mode, *more):
    return [flag for value in [*MODES[mode], *more] for flag in ("--set", value)]


class ServerKillsTest(RecoveryCase):
    """Killed three times within an epoch, each time away for 5 seconds."""

    def drill(self, mode, points):
        expected = self.without_fault() if mode == "sync" else None
        cluster = Cluster(self, self.job, *settings(mode))
        cluster.away = 5
        cluster.kill_again = {shard: [point, point] for shard, point in points.items()}
        cluster.start(points)
        report = cluster.finish()
        self.assertEqual(cluster.kills, 3 * len(points))
        self.assertEqual(report["state"], "finished")
        self.assertEqual(report["rows"], 3 * ROWS, report["events"])
        self.assertEqual(report["rows_twice"], 0, report["events"])  # workers wait, and send the same push again
        self.assertEqual(report["workers_lost"], 0, report["events"])
        if expected:
            self.assertEqual(self.outcome(report), expected)
        if mode == "bounded":
            self.assertLessEqual(report["step_gap_max"], 2)
        return report

    def test_server_1_in_sync(self):
        self.drill("sync", {1: "stage.logged:30"})

    def test_server_0_in_sync(self):
        report = self.drill("sync", {0: "stage.logged:30"})
        self.assertEqual(sum("the coordinator was started again" in event for event in report["events"]), 3)

    def test_both_in_sync(self):
        self.drill("sync", {0: "stage.logged:30", 1: "stage.logged:31"})

    def test_server_1_in_async(self):
        self.drill("async", {1: "push.logged:8"})

    def test_both_in_async(self):
        self.drill("async", {0: "push.applied:8", 1: "push.logged:9"})

    def test_both_in_bounded(self):
        self.drill("bounded", {0: "push.logged:8", 1: "push.applied:9"})


class SlowWorkerTest(RecoveryCase):
    """One of three workers is stopped nine tenths of the time."""

    def drill(self, mode):
        cluster = Cluster(self, self.job, *settings(mode))
        cluster.start()
        slow, over = cluster.workers[0], threading.Event()

        def brake():
            while slow.poll() is None and not over.is_set():
                slow.send_signal(signal.SIGSTOP)
                over.wait(0.09)
                slow.send_signal(signal.SIGCONT)
                over.wait(0.01)

        thread = threading.Thread(target=brake)
        thread.start()
        try:
            report = cluster.finish()
        finally:
            over.set()
            thread.join(30)
        self.assertEqual(report["state"], "finished")
        self.assertEqual(report["rows"], 3 * ROWS)
        self.assertEqual(report["workers_lost"], 0, report["events"])
        return report

    def test_in_async_the_others_do_its_share(self):
        report = self.drill("async")
        pushed = sorted(sum(map(int, one["staleness"]["counts"])) for one in report["staleness"])
        self.assertLess(pushed[0], pushed[1] / 2, pushed)

    def test_in_bounded_nobody_runs_further_ahead_than_the_bound(self):
        self.assertLessEqual(self.drill("bounded")["step_gap_max"], 2)


class EarlyStopTest(RecoveryCase):
    """Decided once for all: everybody learns of it, and nobody waits for work that never comes."""

    EPOCHS = 50
    SETTINGS = ["training.epochs=50", "evaluation.patience=1", "optimizers.dense.adam.learning_rate=0.3"]

    def drill(self, mode, victims=(), **start):
        cluster = Cluster(self, self.job, *settings(mode, *self.SETTINGS))
        cluster.start(**start)
        victims = [cluster.workers[i] for i in victims]
        report = cluster.finish([worker for worker in cluster.workers if worker not in victims])
        self.assertEqual(report["state"], "finished")
        self.assertLess(report["rows"], self.EPOCHS * ROWS)
        self.assertEqual(report["rows"], report["epochs"] * ROWS, report["events"])
        for worker in cluster.workers:
            if worker not in victims:
                self.assertIn("job finished", cluster.log(worker))
        return report

    def test_in_sync_as_in_one_process(self):
        expected = self.without_fault("sync", *self.SETTINGS)
        self.assertEqual(self.outcome(self.drill("sync")), expected)

    def test_in_sync_with_one_that_dies_while_it_scores(self):
        expected = self.without_fault("sync", *self.SETTINGS)
        report = self.drill("sync", victims=[1], worker_kill_at={1: "worker.evaluation:2"})
        self.assertEqual(self.outcome(report), expected)

    def test_in_bounded(self):
        self.drill("bounded")

    def test_in_async(self):
        self.drill("async")

    def test_in_async_with_a_server_that_dies_meanwhile(self):
        self.drill("async", kill_at={0: "push.logged:40"})


class ShapesTest(Case):
    """Every row is trained once an epoch, whatever the data look like, in every mode."""

    def check(self, rows, workers, batch, parts=1):
        header, lines = self.adult_rows()
        job = self.small_adult(rows, test_rows=50)
        files = ["small.csv"]
        if parts > 1:  # an empty one, and one ten times larger than the others
            size = rows // (parts + 8)
            cuts = [0, 10 * size] + [10 * size + size * i for i in range(1, parts - 2)] + [rows, rows]
            files = [f"part-{i}.csv" for i in range(parts)]
            for i, name in enumerate(files):
                self.write(name, b"\n".join([header] + lines[cuts[i]:cuts[i + 1]]) + b"\n")
        for mode in MODES:
            report = self.run_json("cluster", "run", job, "--fresh", "--servers", 1, "--workers", workers, *settings(
                mode, "training.epochs=2", f"training.batch_size={batch}", "model.hidden=[8]", "data.block_bytes=1KiB", "training.patience=60s",
                f"data.train.files=[{', '.join(files)}]"))
            self.assertEqual(report["rows"], 2 * rows, mode)
            self.assertEqual(report["epochs"], 2, mode)
            self.assertEqual(report["workers_lost"], 0, mode)

    def test_four_workers_and_one_file(self):
        self.check(rows=400, workers=4, batch=64)

    def test_fewer_rows_than_a_batch(self):
        self.check(rows=10, workers=2, batch=256)

    def test_one_row_more_than_whole_batches(self):
        self.check(rows=3 * 32 * 2 + 1, workers=2, batch=64)

    def test_an_empty_part_and_a_large_one(self):
        self.check(rows=240, workers=3, batch=24, parts=4)

    def test_more_workers_than_rows(self):
        self.check(rows=3, workers=4, batch=4)


class QualityTest(Case):
    """On all of adult the modes learn what one process learns."""

    def test_async_with_one_and_with_eight_workers(self):
        aucs = []
        for workers in (1, 8):
            report = self.run_json("cluster", "run", harness.source("deploy/jobs/adult.yaml"), "--servers", 2, "--workers", workers, "--fresh",
                                   "--set", "training.mode=async", timeout=600)
            aucs.append(report["evaluation"]["auc"])
        self.assertGreaterEqual(min(aucs), 0.905)
        self.assertLess(abs(aucs[0] - aucs[1]), 0.005, aucs)


if __name__ == "__main__":
    harness.main()
