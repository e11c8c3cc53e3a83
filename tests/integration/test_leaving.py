"""Daemons that are told to stop (SIGTERM) in every phase of a job: each leaves in time with a valid state, and the job comes to its result."""
import os
import signal
import time

import harness
from cluster_case import Cluster, RecoveryCase, ROWS

LEAVE_S = 30
# Who stands still where, while others (or it) are told to stop.
PHASES = {
    "start-up": ("server", 1, "open.begin:1"),
    "survey": ("worker", 0, "worker.survey:1"),
    "reading": ("worker", 0, "worker.batch_read:12"),
    "step": ("worker", 0, "worker.share_computed:20"),
    "push": ("worker", 0, "worker.batch_computed:8"),
    "evaluation": ("server", 1, "pull.evaluation:2"),
    "saving": ("server", 1, "save.begin:1"),
}
WORKER_CODE, SERVER_CODES = 1, (0, 1)


def is_standing(child):
    with open(f"/proc/{child.pid}/stat") as stat:
        return stat.read().rsplit(")", 1)[1].split()[0] == "T"


def has_heard(child):
    """Whether the first signal was taken: from then on, the thread that did does not block a second one."""
    try:
        for thread in os.listdir(f"/proc/{child.pid}/task"):
            with open(f"/proc/{child.pid}/task/{thread}/status") as status:
                blocked = next(line for line in status if line.startswith("SigBlk")).split()[1]
            if not int(blocked, 16) >> (signal.SIGTERM - 1) & 1:
                return True
    except (FileNotFoundError, ProcessLookupError, StopIteration):
        pass
    return child.poll() is not None


class LeavingTest(RecoveryCase):
    def start_to(self, phase, mode):
        """A cluster in which the process of `phase` stands still; returns both."""
        kind, index, point = PHASES[phase]
        cluster = Cluster(self, self.job, "--set", f"training.mode={mode}")
        at = {index: point + ":STOP"}
        cluster.start(kill_at=at if kind == "server" else None, worker_kill_at=at if kind == "worker" else None,
                      workers=1 if phase == "survey" else 3)
        standing = (cluster.servers if kind == "server" else cluster.workers)[index]
        self.wait_for(lambda: is_standing(standing))
        return cluster, standing

    def tell(self, told, standing, times):
        for child in told:
            child.send_signal(signal.SIGTERM)
        standing.send_signal(signal.SIGCONT)
        if times == 2:
            for child in told:
                self.wait_for(lambda: has_heard(child))
                if child.poll() is None:
                    child.send_signal(signal.SIGTERM)

    def check_left(self, cluster, told, times):
        deadline = time.monotonic() + LEAVE_S
        for child in told:
            code = child.wait(max(0, deadline - time.monotonic()))
            allowed = {WORKER_CODE} if child in cluster.workers else set(SERVER_CODES)
            self.assertIn(code, allowed | ({-signal.SIGTERM} if times == 2 else set()), cluster.log(child)[-3000:])

    def supervise(self, cluster):
        """As a supervisor would: starts again what has left, until all workers have ended with the job; returns the report."""
        deadline = time.monotonic() + 150
        while any(worker.poll() != 0 for worker in cluster.workers):
            self.assertLess(time.monotonic(), deadline, cluster.log(cluster.servers[0])[-3000:])
            for shard, server in enumerate(cluster.servers):
                if server.poll() is not None:
                    cluster.start_server(shard)
            for worker in [worker for worker in cluster.workers if worker.poll() not in (None, 0)]:
                cluster.workers.remove(worker)
                cluster.start_worker()
            time.sleep(0.05)
        return cluster.finish()

    def drill(self, who, phases, mode="sync", times=1):
        expected = self.without_fault(mode) if mode == "sync" else None
        for phase in phases:
            with self.subTest(phase=phase, mode=mode):
                began = time.monotonic()
                self.job = self.small_adult(ROWS, name=f"{who}-{phase}-{times}".replace(" ", "-"))  # an own state folder
                cluster, standing = self.start_to(phase, mode)
                told = {"worker": [cluster.workers[0]], "server 0": [cluster.servers[0]], "server 1": [cluster.servers[1]],
                        "all": [*cluster.servers, *cluster.workers]}[who]
                self.tell(told, standing, times)
                self.check_left(cluster, told, times)
                left = time.monotonic()
                while len(cluster.workers) < 3:
                    cluster.start_worker()
                report = self.supervise(cluster)
                print(f"{who}, {phase}, {mode}, told {times}x: codes {[child.returncode for child in told]}, stopped {left - began:.1f} s,"
                      f" finished {time.monotonic() - left:.1f} s later", flush=True)
                self.assertEqual(report["state"], "finished")
                self.assertEqual(report["total_rows"], 3 * ROWS, report["events"])
                if expected:
                    self.assertEqual(self.outcome(report), expected)

    def test_a_worker(self):
        self.drill("worker", ["survey", "reading", "step", "evaluation", "saving"])

    def test_a_worker_in_async(self):
        self.drill("worker", ["push", "evaluation"], mode="async")

    def test_server_1(self):
        self.drill("server 1", ["start-up", "survey", "step", "evaluation", "saving"])

    def test_server_0(self):
        self.drill("server 0", ["start-up", "survey", "reading", "step", "evaluation", "saving"])

    def test_the_whole_group(self):
        self.drill("all", ["start-up", "survey", "reading", "step", "evaluation", "saving"])

    def test_the_whole_group_in_async(self):
        self.drill("all", ["push", "saving"], mode="async")

    def test_twice_in_a_row(self):
        self.drill("worker", ["step"], times=2)
        self.drill("server 1", ["step"], times=2)
        self.drill("server 0", ["step", "saving"], times=2)
        self.drill("all", ["step"], times=2)

    def test_a_worker_that_looks_for_its_coordinator(self):
        cluster = Cluster(self, self.job)
        worker = cluster.start_worker()
        self.wait_for(lambda: "looking for the coordinator" in cluster.log(worker))
        worker.send_signal(signal.SIGTERM)
        self.assertEqual(worker.wait(LEAVE_S), WORKER_CODE)

    def test_a_server_that_waits_for_the_others(self):
        cluster = Cluster(self, self.job)
        cluster.start_server(0)
        worker = cluster.start_worker()
        self.wait_for(lambda: "joined job" in cluster.log(worker))
        cluster.servers[0].send_signal(signal.SIGTERM)
        self.assertIn(cluster.servers[0].wait(LEAVE_S), SERVER_CODES)
        self.assertEqual(worker.wait(LEAVE_S), WORKER_CODE)


if __name__ == "__main__":
    harness.main()
