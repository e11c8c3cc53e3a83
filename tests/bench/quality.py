#!/usr/bin/env python3
"""AUC and logloss of the example jobs on their test files: mean and spread over seeds, in one process and with real daemons.

quality.py [JOB...] [--seeds 1,2,3] [--bin build/bin]     JOB: a name in deploy/jobs; default: all whose data is here
"""
import argparse
import glob
import json
import os
import statistics
import subprocess
import sys
import tempfile

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CLUSTER = ["cluster", "run", "--servers", "2", "--workers", "2"]
WAYS = {"train": ["train"], "cluster, sync": CLUSTER, "cluster, async": CLUSTER + ["--set", "training.mode=async"]}


def run(command, job, seed):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(SOURCE, "deploy", "jobs", job + ".yaml")
        done = subprocess.run([*command, path, "--json", "--set", f"seed={seed}"], cwd=folder, capture_output=True, text=True, timeout=3600)
        if done.returncode != 0:
            raise RuntimeError(f"{job}, seed {seed}: {' '.join(command)} failed\n{done.stderr[-2000:]}")
        return json.loads(done.stdout)["evaluation"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("jobs", nargs="*")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--bin", default=os.path.join(SOURCE, "build", "bin"))
    args = parser.parse_args()
    jobs = args.jobs or sorted(os.path.basename(path)[:-5] for path in glob.glob(os.path.join(SOURCE, "deploy", "jobs", "*.yaml")))
    program = os.path.join(os.path.abspath(args.bin), "tessera")
    seeds = args.seeds.split(",")
    print(f"{'job':10} {'way':15} {'AUC':>8} {'+-':>7} {'logloss':>8} {'+-':>7}   seeds {args.seeds}")
    failed = False
    for job in jobs:
        for way, flags in WAYS.items():
            try:
                scores = [run([program, *flags], job, seed) for seed in seeds]
            except RuntimeError as error:
                print(error, file=sys.stderr)
                failed = True
                break
            figures = [f(score[key] for score in scores) for key in ("auc", "logloss") for f in (statistics.mean, spread)]
            print(f"{job:10} {way:15} {figures[0]:8.5f} {figures[1]:7.5f} {figures[2]:8.4f} {figures[3]:7.4f}", flush=True)
    sys.exit(1 if failed else 0)


def spread(values):
    values = list(values)
    return statistics.pstdev(values) if len(values) > 1 else 0.0


if __name__ == "__main__":
    main()
