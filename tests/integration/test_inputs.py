"""Odd, broken and extreme input, through the whole product."""
import gzip
import json
import math
import random
import subprocess
import unittest

import harness
from harness import Case

QUICK = ["--set", "training.epochs=1", "--set", "training.batch_size=32", "--set", "model.hidden=[8]", "--set", "model.embedding_dim=3",
         "--set", "data.evaluate.holdout=0.2"]


def criteo_rows(count, seed=1, numbers=None, categories=None, label=True):
    rng = random.Random(seed)
    rows = []
    for i in range(count):
        ints = numbers(rng, i) if numbers else [str(rng.randrange(100)) for _ in range(13)]
        cats = categories(rng, i) if categories else [f"{rng.randrange(50):08x}" for _ in range(26)]
        rows.append("\t".join(([str(rng.randrange(2))] if label else []) + ints + cats))
    return rows


def zstd(rows):
    return subprocess.run(["zstd", "-c"], input=("\n".join(rows) + "\n").encode(), capture_output=True, check=True, timeout=60).stdout


class CriteoCase(Case):
    def job(self, files, extra=""):
        return self.write("job.yaml", f"name: job\ndata:\n  format: criteo\n  train: {{files: [{', '.join(files)}]}}\n{extra}")

    def train_rows(self, rows, *args, name="train.tsv", extra="", expect=0):
        self.write(name, "\n".join(rows) + "\n")
        return self.run_tessera("train", self.job([name], extra), "--fresh", "--json", *QUICK, *args, expect=expect)


class WrongFormatTest(CriteoCase):
    def assert_stops(self, err, *parts):
        for part in parts:
            self.assertIn(part, err)
        self.assertNotIn("epoch 1", err)

    def test_a_comma_file_given_as_criteo(self):
        _, err = self.train_rows([row.replace("\t", ",") for row in criteo_rows(50)], expect=2)
        self.assert_stops(err, "train.tsv:1", "40", "comma")

    def test_a_tab_file_without_its_label(self):
        _, err = self.train_rows(criteo_rows(50, label=False), expect=2)
        self.assert_stops(err, "train.tsv:1", "39", "40", "label")

    def test_a_semicolon_file_read_with_a_comma(self):
        self.write("a.csv", "a;b;y\n1;x;0\n2;y;1\n")
        job = self.write("job.yaml", "name: job\ndata:\n  format: csv\n  train: {files: [a.csv]}\n  labels: [{column: y}]\n"
                                     "features: [{match: ['*'], as: categorical}]\n")
        _, err = self.run_tessera("train", job, expect=2)
        self.assert_stops(err, "a.csv", ";")

    def test_a_bad_row_in_the_middle_names_its_line(self):
        rows = criteo_rows(500)
        rows[321] = rows[321].rsplit("\t", 1)[0]
        self.write("train.tsv", "\n".join(rows) + "\n")
        _, err = self.run_tessera("train", self.job(["train.tsv"]), *QUICK, expect=2)
        self.assertIn("train.tsv:322", err)


class CompressedTest(CriteoCase):
    def test_joined_members_give_all_rows_and_a_cut_one_fails(self):
        rows = criteo_rows(400)
        a = gzip.compress(("\n".join(rows[:150]) + "\n").encode())
        b = gzip.compress(("\n".join(rows[150:]) + "\n").encode())
        self.write("joined.gz", a + b)
        result = self.run_json("train", self.job(["joined.gz"]), "--fresh", "--set", "data.evaluate.holdout=0", *QUICK[:-2])
        self.assertEqual(result["rows"], 400)
        self.write("joined.zst", zstd(rows[:150]) + zstd(rows[150:]))
        result = self.run_json("train", self.job(["joined.zst"]), "--fresh", "--set", "data.evaluate.holdout=0", *QUICK[:-2])
        self.assertEqual(result["rows"], 400)
        self.write("cut.gz", (a + b)[:-100])
        out, err = self.run_tessera("train", self.job(["cut.gz"]), "--fresh", *QUICK, expect=2)
        self.assertIn("cut.gz", err)
        self.assertNotIn("epoch 1", out + err)


class BlockTest(CriteoCase):
    """A block may end anywhere in a row: every row is in one block."""

    def test_every_row_is_trained_once_wherever_blocks_are_cut(self):
        rows = criteo_rows(301, numbers=lambda rng, i: [f"{rng.randrange(90) + 10}" for _ in range(13)])
        width = len(rows[0]) + 1
        self.assertEqual({len(row) + 1 for row in rows}, {width})
        self.write("rows.tsv", "\n".join(rows))
        # cuts after each newline, one byte into each row, on a newline, within fields, between rows and far beyond
        for block_bytes in (width, width + 1, width - 1, width // 2 - 1, 3 * width, 1000 * width):
            for workers in (1, 3):
                result = self.run_json("train", self.job(["rows.tsv"]), "--fresh", *QUICK[:-2], "--set", "data.evaluate.holdout=0", "--set",
                                       f"data.block_bytes={block_bytes}", "--set", f"training.workers={workers}")
                self.assertEqual(result["rows"], 301, f"blocks of {block_bytes} bytes, rows of {width}")


class ExtremeTest(CriteoCase):
    def assert_finite(self, out):
        result = json.loads(out)
        self.assertTrue(math.isfinite(result["train_logloss"]))
        self.assertTrue(math.isfinite(result["evaluation"]["logloss"]))

    def test_extreme_numbers_stay_finite_under_every_treatment(self):
        def numbers(rng, i):
            values = ["-1", "-2", "-3", "-1000000", "1" + "0" * 30, "7", ""]
            return ["5"] + [values[rng.randrange(len(values))] for _ in range(12)]
        rows = criteo_rows(400, numbers=numbers)
        for treat in ("bucket", "scaled", "dense", "bucket, scaled, dense"):
            out, _ = self.train_rows(rows, extra=f"features: [{{match: ['I*'], as: numeric, treat: [{treat}]}}, {{match: ['*'], as: categorical}}]\n")
            self.assert_finite(out)

    def test_rows_of_nothing(self):
        self.assert_finite(self.train_rows(criteo_rows(200, categories=lambda r, i: [""] * 26))[0])
        self.assert_finite(self.train_rows(criteo_rows(200, numbers=lambda r, i: [""] * 13))[0])
        mixed = criteo_rows(200)
        mixed[50:60] = ["1" + "\t" * 39] * 10
        self.assert_finite(self.train_rows(mixed)[0])


class ShapeTest(Case):
    def test_any_embedding_size_and_hidden_layer_trains_saves_and_predicts(self):
        job = self.small_adult(300, test_rows=50)
        for dim in (1, 2, 3, 5, 7, 10, 17, 50, 129):
            for hidden in ("[1]", "[33]"):
                result = self.run_json("train", job, "--fresh", "--set", "training.epochs=1", "--set", f"model.embedding_dim={dim}", "--set",
                                       f"model.hidden={hidden}")
                again = self.run_json("evaluate", "--checkpoint", "runs/small", "--data", "test.csv")
                self.assertEqual(again["auc"], result["evaluation"]["auc"], f"dim {dim}, hidden {hidden}")
                self.assertEqual(again["logloss"], result["evaluation"]["logloss"], f"dim {dim}, hidden {hidden}")

    def test_one_field_only(self):
        self.write("one.csv", "a,y\n" + "".join(f"{i % 7},{int(i % 7 > 3)}\n" for i in range(300)))
        job = self.write("one.yaml", "name: one\ndata:\n  format: csv\n  train: {files: [one.csv]}\n  labels: [{column: y}]\n"
                                     "features: [{match: [a], as: categorical}]\n")
        result = self.run_json("train", job, "--set", "training.batch_size=8")
        self.assertGreater(result["evaluation"]["auc"], 0.99)
        # an empty line in the middle is a missing value, at the end it is nothing
        self.write("rows.csv", "a\n1\n\n6\n\n")
        self.run_tessera("predict", "--checkpoint", "runs/one", "--data", "rows.csv", "--output", "out.csv")
        with open(self.path("out.csv")) as f:
            low, _, high = [float(line) for line in f.read().split()]
        self.assertLess(low, high)


if __name__ == "__main__":
    harness.main()
