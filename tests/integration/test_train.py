"""`tessera train`: the whole job in one process, started, stopped, resumed, refused."""
import json
import os
import signal
import time
import unittest

import harness
from harness import Case


class TrainTest(Case):
    def test_a_job_of_nothing_but_data_trains_and_says_what_it_reached(self):
        job = self.small_adult(4000)
        result = self.run_json("train", job, "--set", "training.epochs=2")
        for key in ("rows", "steps", "epochs", "seconds", "examples_per_second", "train_logloss", "evaluation", "checkpoint"):
            self.assertIn(key, result)
        self.assertEqual(result["rows"], 8000)
        self.assertEqual(result["epochs"], 2)
        self.assertEqual(result["evaluation"]["rows"], 500)
        self.assertGreater(result["evaluation"]["auc"], 0.85)
        self.assertTrue(os.path.isdir(result["checkpoint"]))
        runs = [r for r in os.listdir(self.path("runs/small")) if os.path.exists(self.path(f"runs/small/{r}/summary.json"))]
        self.assertEqual(len(runs), 1)
        with open(self.path(f"runs/small/{runs[0]}/summary.json")) as f:
            self.assertEqual(json.load(f)["evaluation"], result["evaluation"])

    def test_json_is_one_object_on_stdout_and_nothing_else(self):
        job = self.small_adult(600)
        out, _ = self.run_tessera("train", job, "--set", "training.epochs=1", "--json")
        self.assertEqual(out.strip()[0], "{")
        json.loads(out)

    def test_a_finished_job_says_so(self):
        job = self.small_adult(600)
        first = self.run_json("train", job, "--set", "training.epochs=1")
        out, err = self.run_tessera("train", job, "--set", "training.epochs=1")
        self.assertIn("finished", out + err)
        again = self.run_json("train", job, "--set", "training.epochs=1")
        self.assertEqual(again["evaluation"], first["evaluation"])

    def test_a_changed_job_is_refused_with_the_difference(self):
        job = self.small_adult(600)
        self.run_tessera("train", job, "--set", "training.epochs=1")
        _, err = self.run_tessera("train", job, "--set", "training.epochs=1", "--set", "model.embedding_dim=8", expect=1)
        self.assertIn("model.embedding_dim", err)
        self.assertIn("--fresh", err)
        self.run_tessera("train", job, "--set", "training.epochs=1", "--set", "model.embedding_dim=8", "--fresh")

    def test_a_fresh_start_that_cannot_begin_leaves_the_earlier_state(self):
        job = self.small_adult(600)
        self.run_tessera("train", job, "--set", "training.epochs=1")
        self.write("bad.csv", "a,b\n1,2\n")
        out, err = self.run_tessera("train", job, "--set", "training.epochs=1", "--set", "data.train.files=[bad.csv]", "--fresh", expect=2)
        self.assertIn("back in its place", err)
        self.run_tessera("evaluate", "--checkpoint", "runs/small", "--data", "test.csv")
        self.assertEqual([name for name in os.listdir(self.path("runs/small")) if ".old-" in name], [])
        out, _ = self.run_tessera("train", job, "--set", "training.epochs=3", "--fresh", "--dry-run")
        self.assertIn("begin at step 0", out)
        _, err = self.run_tessera("train", job, "--set", "training.epochs=1")
        self.assertNotIn("step 0", err)

    def test_changed_data_is_refused_by_file(self):
        job = self.small_adult(600)
        self.run_tessera("train", job, "--set", "training.epochs=1")
        with open(self.path("small.csv"), "a") as f:
            f.write("39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, 2174, 0, 40, United-States, <=50K\n")
        _, err = self.run_tessera("train", job, "--set", "training.epochs=1", expect=1)
        self.assertIn("small.csv", err)

    def test_an_interrupted_job_goes_on_to_the_same_result(self):
        job = self.small_adult(8000)
        settings = ["--set", "training.epochs=3", "--set", "training.batch_size=16", "--set", "model.hidden=[16]"]
        os.mkdir(self.path("whole"))
        whole = self.run_json("train", job, *settings, cwd=self.path("whole"))
        child = self.start("tessera", "train", job, *settings)
        state = self.path("runs/small")
        deadline = time.monotonic() + 60
        while not os.path.exists(os.path.join(state, "checkpoints", "CURRENT")) and time.monotonic() < deadline and child.poll() is None:
            time.sleep(0.02)
        child.send_signal(signal.SIGINT)
        child.wait(timeout=60)
        resumed = self.run_json("train", job, *settings)
        self.assertEqual(resumed["evaluation"], whole["evaluation"])

    def test_a_dry_run_trains_nothing(self):
        job = self.small_adult(600)
        self.run_tessera("train", "--set", "training.epochs=2", job, "--set", "seed=3", "--dry-run")
        self.assertFalse(os.path.exists(self.path("runs/small/state")))

    def test_a_missing_job_file_is_a_usage_error(self):
        _, err = self.run_tessera("train", "nothing.yaml", expect=2)
        self.assertIn("nothing.yaml", err)

    def test_a_bad_key_is_named_with_its_line(self):
        job = self.write("bad.yaml", "name: x\ndata:\n  format: csv\n  trian: {files: [a.csv]}\n")
        _, err = self.run_tessera("train", job, expect=2)
        self.assertIn("bad.yaml:4", err)
        self.assertIn("train", err)


class RowsTest(Case):
    """Every row is trained exactly once per epoch."""

    def job_over(self, parts, name="parts"):
        header, _ = self.adult_rows()
        files = []
        for i, part in enumerate(parts):
            text = b"\n".join([header] + part) if part else b""
            files.append(os.path.basename(self.write(f"part_{i}.csv", text)))
        self.write("test.csv", b"\n".join([header] + self.adult_rows()[1][-100:]) + b"\n")
        return self.write(f"{name}.yaml", harness.ADULT.format(name=name, seed=1, train=", ".join(files), test="test.csv"))

    def test_rows_of_part_files_without_a_final_newline_and_an_empty_part(self):
        _, lines = self.adult_rows()
        job = self.job_over([lines[:333], lines[333:334], [], lines[334:1000]])
        for workers in range(1, 8):
            for mode in ("sync", "async"):
                result = self.run_json("train", job, "--fresh", "--set", "training.epochs=2", "--set", f"training.workers={workers}", "--set",
                                       f"training.mode={mode}", "--set", "training.batch_size=64", "--set", "model.hidden=[8]")
                self.assertEqual(result["rows"], 2000, f"{mode}, {workers} workers")


if __name__ == "__main__":
    harness.main()
