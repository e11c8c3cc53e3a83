"""Real daemons on loopback, started by `tessera cluster run` and by hand."""
import os
import time
import unittest

import harness
from harness import Case

SMALL = ["--set", "training.epochs=2", "--set", "training.batch_size=64", "--set", "model.hidden=[16]", "--set", "model.embedding_dim=4"]


class ExactTest(Case):
    """sync: the same bits at any number of workers and servers, in one process or many."""

    def predictions(self, job, test, folder):
        out = os.path.join(folder, "out.csv")
        self.run_tessera("predict", "--checkpoint", "runs/small", "--data", test, "--output", out, cwd=folder)
        with open(out, "rb") as f:
            return f.read()

    def test_any_number_of_workers_and_servers_gives_the_same_bits(self):
        # 1,025 rows in steps of 64: the last step of an epoch has one row.
        job = self.small_adult(1025)
        settings = [*SMALL, "--set", "training.shares=6", "--set", "model.dropout=0.2", "--set", "training.mode=sync"]
        results = {}
        layouts = [None, None] + [(s, w) for s in (1, 2, 3) for w in (1, 2, 3)]
        for i, layout in enumerate(layouts):
            folder = self.path(f"run-{i}")
            os.mkdir(folder)
            if layout is None:
                result = self.run_json("train", job, *settings, cwd=folder)
            else:
                result = self.run_json("cluster", "run", job, "--servers", layout[0], "--workers", layout[1], *settings, cwd=folder)
            self.assertEqual(result["rows"], 2050)
            results[(i, layout)] = (result["content_digest"], result["train_logloss"], result["evaluation"],
                                    self.predictions(job, self.path("test.csv"), folder))
        first = next(iter(results.values()))
        self.assertNotEqual(int(first[0], 16), 0)
        for layout, result in results.items():
            self.assertEqual(result, first, f"{layout} differs")

    def test_compressed_input_gives_the_same_bits(self):
        import gzip
        job = self.small_adult(1025)
        settings = [*SMALL, "--set", "training.shares=2"]
        os.mkdir(self.path("plain"))
        plain = self.run_json("train", job, *settings, cwd=self.path("plain"))
        with open(self.path("small.csv"), "rb") as f:
            self.write("small.csv", gzip.compress(f.read()))
        os.mkdir(self.path("gz"))
        packed = self.run_json("train", job, *settings, cwd=self.path("gz"))
        self.assertEqual(packed["content_digest"], plain["content_digest"])


class ClusterTest(Case):
    def test_two_servers_and_two_workers_train_in_async(self):
        job = self.small_adult(3000)
        result = self.run_json("cluster", "run", job, "--servers", 2, "--workers", 2, *SMALL, "--set", "training.mode=async")
        self.assertEqual(result["rows"], 6000)
        self.assertGreater(result["evaluation"]["auc"], 0.8)

    def test_print_shows_the_lines_to_start_by_hand(self):
        job = self.small_adult(300)
        out, _ = self.run_tessera("cluster", "run", job, "--servers", 2, "--workers", 1, "--print")
        self.assertEqual(out.count("tessera-ps"), 2)
        self.assertEqual(out.count("tessera-worker"), 1)


class SizeTest(Case):
    def test_a_step_larger_than_any_message(self):
        # 170,000 different ids of dim 128: the step's rows take more than the 64 MiB that a message may have.
        self.run_tessera("data", "generate", "--rows", 66000, "--seed", 3, "--output", "big.tsv")
        job = self.write("big.yaml", "name: big\ndata: {format: criteo, train: {files: [big.tsv]}, evaluate: {holdout: 0}}\n"
                         "model: {embedding_dim: 128, hidden: [8]}\ntraining: {batch_size: 65536, epochs: 1}\n")
        result = self.run_json("cluster", "run", job, "--servers", 1, "--workers", 1)
        self.assertEqual((result["rows"], result["steps"]), (66000, 2))


class DaemonTest(Case):
    def test_daemons_by_hand_a_worker_before_its_server_and_a_proxy_in_the_environment(self):
        job = self.small_adult(600)
        ports = [harness.free_port(), harness.free_port()]
        servers = ",".join(f"127.0.0.1:{p}" for p in ports)
        proxy = {"http_proxy": "http://127.0.0.1:1", "https_proxy": "http://127.0.0.1:1"}
        worker = self.start("tessera-worker", "--coordinator", f"127.0.0.1:{ports[0]}", env=proxy)
        time.sleep(1.5)  # the worker is there first: that is the point of the test
        self.assertIsNone(worker.poll())
        shards = [self.start("tessera-ps", "--job", job, *SMALL, "--shard", i, "--servers", servers, env=proxy) for i in range(2)]
        self.assertIn("finished", self.finish(worker))
        late = self.start("tessera-worker", "--coordinator", f"127.0.0.1:{ports[0]}")
        self.assertIn("finished", self.finish(late))
        for shard in shards:
            self.stop(shard)
            self.finish(shard)

    def test_a_used_port_fails_at_once(self):
        job = self.small_adult(300)
        port = harness.free_port()
        args = ["--job", job, "--shard", 0, "--servers", f"127.0.0.1:{port}"]
        self.start("tessera-ps", *args, "--set", "storage.directory=one", "--set", "checkpoint.directory=one-c")
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            try:
                __import__("socket").create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                time.sleep(0.05)
        second = self.start("tessera-ps", *args, "--set", "storage.directory=two", "--set", "checkpoint.directory=two-c")
        text = self.finish(second, expect=1, timeout=10)
        self.assertIn("address in use", text.lower())
        self.assertIn(str(port), text)

    def test_a_server_that_never_comes_is_named(self):
        port = harness.free_port()
        worker = self.start("tessera-worker", "--coordinator", f"127.0.0.1:{port}", "--patience", "2s")
        text = self.finish(worker, expect=1, timeout=30)
        self.assertIn(f"127.0.0.1:{port}", text)


class RefusalTest(Case):
    """Gradients that are not finite reach no server; how many are left out is a setting."""

    DIVERGE = ["--set", "optimizers.dense={sgd: {learning_rate: 1e30}}", "--set", "optimizers.sparse={sgd: {learning_rate: 1e30}}"]

    def test_the_job_ends_with_one_more_than_allowed_and_names_worker_table_field_and_step(self):
        job = self.small_adult(1025)
        for mode in ("sync", "async"):
            for allowed in (None, 3):
                folder = self.path(f"{mode}-{allowed}")
                os.mkdir(folder)
                allow = [] if allowed is None else ["--set", f"training.refusals_max={allowed}"]
                result = self.run_json("cluster", "run", job, "--servers", 2, "--workers", 2, *SMALL, "--set", f"training.mode={mode}",
                                       *self.DIVERGE, *allow, cwd=folder, expect=1)
                for word in ("step ", "gradient of ", "table features, field ", "small.csv:", "[worker ",
                             f"training.refusals_max allows {allowed or 0}"):
                    self.assertIn(word, result["error"])
                self.assertGreater(result["refused_batches"], allowed or 0)
                self.assertGreater(result["refused_rows"], 0)


if __name__ == "__main__":
    harness.main()
