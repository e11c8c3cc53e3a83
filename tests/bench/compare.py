#!/usr/bin/env python3
"""Two ways to train on generated clicks, alternated: the ratio of their rows a second, the other over the base.

compare.py BASE OTHER [--rows 400000] [--epochs 1] [--pairs 5] [--bin build/bin]     each is what follows `tessera`, without the job:
    compare.py 'train' 'cluster run --servers 1 --workers 1'
    compare.py 'train --set storage.durability=process' 'train --set storage.durability=power'
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
JOB = """
name: clicks
data: {{format: criteo, train: {{files: [../clicks.tsv]}}, evaluate: {{holdout: 0.01}}}}
training: {{batch_size: 4096, epochs: {epochs}, shares: 1}}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base")
    parser.add_argument("other")
    parser.add_argument("--rows", default="400000")
    parser.add_argument("--epochs", default="1")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--bin", default=os.path.join(SOURCE, "build", "bin"))
    args = parser.parse_args()
    program = os.path.join(os.path.abspath(args.bin), "tessera")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, "data", "generate", "--rows", args.rows, "--output", "clicks.tsv"], cwd=folder, check=True, capture_output=True)
        run_folder = os.path.join(folder, "run")

        def rate(way):
            shutil.rmtree(run_folder, ignore_errors=True)
            os.mkdir(run_folder)
            with open(os.path.join(run_folder, "job.yaml"), "w") as f:
                f.write(JOB.format(epochs=args.epochs))
            done = subprocess.run([program, *way.split(), "job.yaml", "--json"], cwd=run_folder, capture_output=True, text=True, timeout=3600)
            if done.returncode != 0:
                sys.exit(f"{way} failed\n{done.stderr[-2000:]}")
            return json.loads(done.stdout)["examples_per_second"]

        ratios = []
        for pair in range(args.pairs):
            first, second = (args.base, args.other) if pair % 2 == 0 else (args.other, args.base)
            rates = {first: rate(first), second: rate(second)}
            ratios.append(rates[args.other] / rates[args.base])
            print(f"base {rates[args.base]:8.0f} rows/s   other {rates[args.other]:8.0f} rows/s   ratio {ratios[-1]:.3f}", flush=True)
        print(f"median {statistics.median(ratios):.3f} ({min(ratios):.3f}..{max(ratios):.3f}): {args.other} / {args.base}")


if __name__ == "__main__":
    main()
