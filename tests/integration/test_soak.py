"""Everything at once on a real server for a while: pushes side by side, pulls, admission, eviction, write-back, saves; then one kill.

--seconds N   how long (default 12)      --seed S   (default 1)      --server FILE   another tessera-ps, as one built with a sanitizer
"""
import argparse
import os
import subprocess

import harness
from harness import Case

_parser = argparse.ArgumentParser()
_parser.add_argument("--seconds", type=int, default=12)
_parser.add_argument("--seed", type=int, default=1)
_parser.add_argument("--server", default="")
OPTIONS, harness.REST = _parser.parse_known_args(harness.REST)


class SoakTest(Case):
    def test_everything_at_once_adds_up(self):
        os.mkdir(self.path("work"))
        command = [harness.program("push_load"), "--mode", "soak", "--folder", self.path("work"), "--seconds", OPTIONS.seconds, "--seed", OPTIONS.seed]
        if OPTIONS.server:
            command += ["--server", os.path.abspath(OPTIONS.server)]
        print(" ".join(map(str, command)), flush=True)
        # Its lines come as it goes, as is wanted of a long one.
        done = subprocess.run(list(map(str, command)), stderr=subprocess.STDOUT, timeout=600 + 2 * OPTIONS.seconds)
        self.assertEqual(done.returncode, 0)


if __name__ == "__main__":
    harness.main()
