"""A server under load is killed again and again, anywhere: every acknowledged update is there, none twice.

--kills N   so many in all (default 24), shared by the modes and durabilities        --seed S   of the first of them (default 1)
"""
import argparse
import os
import subprocess

import harness
from harness import Case

_parser = argparse.ArgumentParser()
_parser.add_argument("--kills", type=int, default=24)
_parser.add_argument("--seed", type=int, default=1)
OPTIONS, harness.REST = _parser.parse_known_args(harness.REST)

# async: workers side by side, exact sums; ordered: one worker against a second server; sync: in step, against a second server
RUNS = [(mode, durability) for durability in ("process", "power") for mode in ("async", "ordered", "sync")]


class CrashTest(Case):
    def drill(self, mode, durability):
        number = RUNS.index((mode, durability))
        kills = (OPTIONS.kills + len(RUNS) - 1) // len(RUNS)
        os.mkdir(self.path("work"))
        # Two of three kills are at fault points; the runs go on in their list where the one before ended.
        command = [harness.program("push_load"), "--folder", self.path("work"), "--mode", mode, "--durability", durability, "--kills", kills,
                   "--seed", OPTIONS.seed + number, "--first-point", number * (kills - (kills + 2) // 3)]
        print(" ".join(map(str, command)), flush=True)
        done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60 + 30 * kills)
        text = done.stdout.decode(errors="replace")
        self.assertEqual(done.returncode, 0, text[-6000:])
        print(text, end="", flush=True)

    def test_pushes_of_workers_side_by_side_survive_the_process(self):
        self.drill("async", "process")

    def test_pushes_of_workers_side_by_side_reach_the_disk(self):
        self.drill("async", "power")

    def test_pushes_whose_order_matters_survive_the_process(self):
        self.drill("ordered", "process")

    def test_pushes_whose_order_matters_reach_the_disk(self):
        self.drill("ordered", "power")

    def test_stages_and_decisions_survive_the_process(self):
        self.drill("sync", "process")

    def test_stages_and_decisions_reach_the_disk(self):
        self.drill("sync", "power")


class UsageTest(Case):
    def test_an_unknown_flag_is_told(self):
        done = subprocess.run([harness.program("push_load"), "--kils", "3"], capture_output=True, timeout=30)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"--kils", done.stderr)


if __name__ == "__main__":
    harness.main()
