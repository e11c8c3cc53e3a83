#!/usr/bin/env python3
"""What the modes do to a job: mode x workers -> AUC, rows/s, staleness. Real daemons on this machine, two servers.

modes.py [--job adult] [--workers 1,2,4,8] [--seeds 1,2,3] [--bin build/bin] [--set K=V]...
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MODES = {"sync": ["training.mode=sync"], "bounded 1": ["training.mode=bounded", "training.staleness=1"],
         "bounded 4": ["training.mode=bounded", "training.staleness=4"], "async": ["training.mode=async"],
         "async, compensated": ["training.mode=async", "training.compensate_staleness=true"]}


def run(program, job, workers, sets):
    with tempfile.TemporaryDirectory() as folder:
        flags = [flag for value in sets for flag in ("--set", value)]
        path = os.path.join(SOURCE, "deploy", "jobs", job + ".yaml")
        command = [program, "cluster", "run", path, "--json", "--servers", "2", "--workers", str(workers), *flags]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=3600)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)} failed\n{done.stderr[-2000:]}")
        return json.loads(done.stdout)


def staleness(report):
    """Mean over all gradients, and the largest."""
    all_workers = [worker["staleness"] for worker in report["staleness"]]
    gradients = sum(sum(map(int, one["counts"])) for one in all_workers)
    if gradients == 0:
        return 0.0, 0
    return sum(int(one["sum"]) for one in all_workers) / gradients, max(int(one["max"]) for one in all_workers)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--job", default="adult")
    parser.add_argument("--workers", default="1,2,4,8")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--bin", default=os.path.join(SOURCE, "build", "bin"))
    parser.add_argument("--set", action="append", default=[])
    args = parser.parse_args()
    program = os.path.join(os.path.abspath(args.bin), "tessera")
    print(f"{'mode':19} {'workers':>7} {'AUC':>8} {'+-':>7} {'rows/s':>9} {'staleness':>9} {'max':>4} {'ahead':>5}   {args.job}, seeds {args.seeds}")
    for mode, sets in MODES.items():
        for workers in args.workers.split(","):
            reports = [run(program, args.job, workers, [*sets, *args.set, f"seed={seed}"]) for seed in args.seeds.split(",")]
            aucs = [report["evaluation"]["auc"] for report in reports]
            stale = [staleness(report) for report in reports]
            ahead = max(int(report.get("step_gap_max", 0)) for report in reports)
            print(f"{mode:19} {workers:>7} {statistics.mean(aucs):8.5f} {statistics.pstdev(aucs):7.5f} "
                  f"{statistics.median(report['examples_per_second'] for report in reports):9.0f} "
                  f"{statistics.mean(mean for mean, _ in stale):9.2f} {max(most for _, most in stale):4} {ahead:5}", flush=True)


if __name__ == "__main__":
    main()
