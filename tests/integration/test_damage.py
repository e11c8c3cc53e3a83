"""Servers that were stopped, and a folder of theirs that got damaged: what is wrong and where, exit code 1, and nothing made up instead."""
import glob
import os
import shutil
import struct
import time

import harness
from harness import Case

SMALL = ["--set", "training.epochs=2", "--set", "training.batch_size=64", "--set", "model.hidden=[16]", "--set", "model.embedding_dim=4"]


def flip(path, at):
    with open(path, "r+b") as f:
        f.seek(at)
        byte = f.read(1)[0]
        f.seek(at)
        f.write(bytes([byte ^ 0x20]))


class DamageTest(Case):
    def start_server(self, shard, *flags):
        return self.start("tessera-ps", "--job", self.job, *SMALL, "--shard", shard, "--servers", self.servers, *flags)

    def train(self, *flags_of_server_1):
        """Two servers and a worker; returns them."""
        self.job = self.small_adult(1025)
        self.servers = ",".join(f"127.0.0.1:{harness.free_port()}" for _ in range(2))
        servers = [self.start_server(0), self.start_server(1, *flags_of_server_1)]
        return servers, self.start("tessera-worker", "--coordinator", self.servers.split(",")[0])

    def find_state(self):
        """The folder that the servers left; it is kept to be mended from."""
        [shard] = glob.glob(os.path.join(self.folder, "**", "shard-1-of-2", "rows"), recursive=True)
        self.state = os.path.dirname(os.path.dirname(shard))
        shutil.copytree(self.state, self.path("kept"))

    def mend(self):
        shutil.rmtree(self.state)
        shutil.copytree(self.path("kept"), self.state)

    def files(self, shard, pattern):
        found = sorted(glob.glob(os.path.join(self.state, f"shard-{shard}-of-2", pattern)))
        self.assertTrue(found, pattern)
        return found

    def expect_told(self, *words):
        """By `table get`, `table describe` and a start of server 1, each with exit code 1."""
        for verb in (["get", "sex=Male"], ["describe"], ["list"]):
            _, err = self.run_tessera("table", *verb, "--state", self.state, expect=1)
            for word in words:
                self.assertIn(word, err)
        text = self.finish(self.start_server(1), expect=1)
        for word in words:
            self.assertIn(word, text)

    def test_a_damaged_row_is_told_by_all_who_look_at_it(self):
        servers, worker = self.train()
        self.finish(worker)
        for server in servers:
            self.stop(server)
        self.find_state()
        row = self.run_json("table", "get", "--state", self.state, "sex=Male")
        self.assertTrue(row["found"])
        value = struct.pack(f"<{len(row['values'])}f", *row["values"])
        damaged = None
        for path in self.files(row["server"], "rows/*.sst"):
            with open(path, "rb") as f:
                at = f.read().find(value)
            if at >= 0:
                flip(path, at + 1)
                damaged = path
        self.assertIsNotNone(damaged)
        _, err = self.run_tessera("table", "get", "--state", self.state, "sex=Male", expect=1)
        for word in (f"row {row['id']} of table features", damaged, "offset"):
            self.assertIn(word, err)
        _, err = self.run_tessera("table", "describe", "--state", self.state, expect=1)
        self.assertIn(damaged, err)
        self.assertIn("offset", err)
        # A start reads no rows. Whoever asks for that one is told; the others are there.
        servers = [self.start_server(0), self.start_server(1)]
        self.await_listening(servers)
        self.finish(self.start("tessera-worker", "--coordinator", self.servers.split(",")[0]))  # brings the plan: the job is over
        _, err = self.run_tessera("table", "get", "--servers", self.servers, "sex=Male", expect=1)
        for word in (f"row {row['id']} of table features", damaged, "offset"):
            self.assertIn(word, err)
        self.assertTrue(self.run_json("table", "get", "--servers", self.servers, "education=Bachelors")["found"])

    def says(self, child, word):
        with open(child.log, "rb") as f:
            return word in f.read()

    def await_listening(self, servers):
        deadline = time.monotonic() + 120
        for server in servers:
            while not self.says(server, b"listening"):
                self.assertIsNone(server.poll())
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.02)

    def test_a_damaged_database_or_log_keeps_the_server_from_starting(self):
        # It ends in the middle of the job, so its log is needed.
        servers, worker = self.train("--kill-at", "log.appended:60")
        self.finish(servers[1], expect=-9)
        for child in (worker, servers[0]):
            child.kill()
            child.wait(timeout=30)
        self.find_state()
        log = self.files(1, "log/*.log")[0]
        flip(log, 40 + 40 + 100)
        self.expect_told(log, " at byte 40", "Remove " + os.path.join(self.state, "shard-1-of-2"))
        self.mend()
        flip(log, 20)
        self.expect_told(log)
        self.mend()
        shutil.rmtree(os.path.dirname(log))
        self.expect_told(os.path.dirname(log), "state lost")
        for pattern in ("rows/CURRENT", "rows/MANIFEST-*", "KEPT"):
            self.mend()
            path = self.files(1, pattern)[-1]
            flip(path, 5)
            self.expect_told(os.path.dirname(path), "Remove " + os.path.join(self.state, "shard-1-of-2"))
            if pattern == "KEPT":
                continue
            self.mend()
            os.remove(path)
            self.expect_told(os.path.dirname(path), "Remove " + os.path.join(self.state, "shard-1-of-2"))
        # Mended, it starts.
        self.mend()
        self.run_tessera("table", "describe", "--state", self.state)


if __name__ == "__main__":
    harness.main()
