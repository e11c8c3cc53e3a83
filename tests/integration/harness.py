"""What the integration tests share: the built programs, folders, free ports, data sets cut to size."""
import argparse
import gzip
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

_parser = argparse.ArgumentParser()
_parser.add_argument("--bin", required=True, help="folder of the built programs")
_parser.add_argument("--source", required=True, help="the source tree")
_parser.add_argument("--data", required=True, help="further data sets; may be absent")
ARGS, REST = _parser.parse_known_args()
for _name in ("bin", "source", "data"):
    setattr(ARGS, _name, os.path.abspath(getattr(ARGS, _name)))

ADULT = """
name: {name}
seed: {seed}
data:
  format: csv
  train: {{files: [{train}]}}
  evaluate: {{files: [{test}]}}
  labels: [{{column: wage_class, positive: [">50K", ">50K."], negative: ["<=50K", "<=50K."]}}]
features:
  - {{match: [age, fnlwgt, education_num, capital_gain, capital_loss, hours_per_week], as: numeric}}
  - {{match: ["*"], as: categorical}}
"""


def program(name):
    return os.path.join(ARGS.bin, name)


def source(path):
    return os.path.join(ARGS.source, path)


def data(path):
    """A file of the further data sets: skips where it is absent, fails where it must not be."""
    full = os.path.join(ARGS.data, path)
    if not os.path.exists(full):
        if os.environ.get("CI") == "true":
            raise AssertionError(f"{full} is absent, and CI=true")
        raise unittest.SkipTest(f"{full} is absent")
    return full


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Case(unittest.TestCase):
    """Each test runs in an empty folder of its own, and leaves no process behind."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="tessera-test-")
        self.children = []

    def tearDown(self):
        for child in self.children:
            if child.poll() is None:
                child.kill()
                child.wait(timeout=30)
            for stream in (child.stdout, child.stderr):
                if stream:
                    stream.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "wb") as f:
            f.write(text if isinstance(text, bytes) else text.encode())
        return self.path(name)

    def run_tessera(self, *args, expect=0, timeout=300, env=None, stdin=None, cwd=None):
        """Runs `tessera ARGS` here; returns (stdout, stderr)."""
        done = subprocess.run([program("tessera"), *map(str, args)], cwd=cwd or self.folder, input=stdin, capture_output=True, timeout=timeout,
                              env={**os.environ, **(env or {})})
        out, err = done.stdout.decode(), done.stderr.decode()
        self.assertEqual(done.returncode, expect, f"tessera {' '.join(map(str, args))}\n--- stdout\n{out[-4000:]}\n--- stderr\n{err[-4000:]}")
        return out, err

    def run_json(self, *args, **kwargs):
        out, _ = self.run_tessera(*args, "--json", **kwargs)
        return json.loads(out)

    def start(self, name, *args, env=None):
        """Starts a program here; its output goes to a file of its own."""
        log = open(self.path(f"{name}-{len(self.children)}.log"), "wb")
        child = subprocess.Popen([program(name), *map(str, args)], cwd=self.folder, stdout=log, stderr=subprocess.STDOUT,
                                 env={**os.environ, **(env or {})})
        child.log = log.name
        log.close()
        self.children.append(child)
        return child

    def finish(self, child, expect=0, timeout=120):
        code = child.wait(timeout=timeout)
        with open(child.log, "rb") as f:
            text = f.read().decode(errors="replace")
        self.assertEqual(code, expect, text[-4000:])
        return text

    def stop(self, child, timeout=60):
        child.send_signal(signal.SIGTERM)
        child.wait(timeout=timeout)

    def wait_for(self, happened, timeout=60):
        """Until happened() is true."""
        deadline = time.monotonic() + timeout
        while not happened():
            self.assertLess(time.monotonic(), deadline, "it did not happen in time")
            time.sleep(0.05)

    def adult_rows(self):
        """Header and lines of the adult training data."""
        with gzip.open(source("tests/data/adult/adult.data.csv.gz"), "rb") as f:
            lines = [line for line in f.read().split(b"\n") if line]
        return lines[0], lines[1:]

    def small_adult(self, rows, name="small", train="small.csv", test_rows=500, seed=7):
        """A job over the first rows of adult; returns the job file."""
        header, lines = self.adult_rows()
        self.write(train, b"\n".join([header] + lines[:rows]) + b"\n")
        self.write("test.csv", b"\n".join([header] + lines[-test_rows:]) + b"\n")
        return self.write(f"{name}.yaml", ADULT.format(name=name, seed=seed, train=train, test="test.csv"))


def main():
    unittest.main(argv=[sys.argv[0], *REST], verbosity=2)
