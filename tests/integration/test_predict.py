"""evaluate and predict on a checkpoint."""
import gzip
import json
import os
import unittest

import harness
from harness import Case


class PredictTest(Case):
    def train(self):
        self.job = self.small_adult(2000)
        self.run_tessera("train", self.job, "--set", "training.epochs=1", "--set", "model.hidden=[32]")
        with open(self.path("test.csv"), "rb") as f:
            self.test = f.read()

    def predict(self, name, *args, expect=0, stdin=None):
        self.run_tessera("predict", "--checkpoint", "runs/small", "--data", name, "--output", "out.csv", *args, expect=expect, stdin=stdin)
        with open(self.path("out.csv"), "rb") as f:
            return f.read()

    def test_one_line_per_row_whatever_the_threads_and_the_packing(self):
        self.train()
        reference = self.predict("test.csv", "--threads", 1)
        self.assertEqual(len(reference.splitlines()), 500)
        for p in reference.split():
            self.assertTrue(0 < float(p) < 1)
        self.assertEqual(self.predict("test.csv", "--threads", 8), reference)
        self.write("packed", gzip.compress(self.test))
        self.assertEqual(self.predict("packed"), reference)
        self.write("cut.csv", self.test.rstrip(b"\n"))
        self.assertEqual(self.predict("cut.csv"), reference)
        self.write("crlf.csv", self.test.replace(b"\n", b"\r\n"))
        self.assertEqual(self.predict("crlf.csv"), reference)
        self.assertEqual(self.predict("-", stdin=self.test), reference)
        lines = self.test.splitlines()
        self.write("unlabelled.csv", b"\n".join(line.rsplit(b",", 1)[0] for line in lines) + b"\n")
        self.assertEqual(self.predict("unlabelled.csv"), reference)
        # a row's prediction does not depend on its neighbours
        self.write("tail.csv", b"\n".join([lines[0]] + lines[-7:]) + b"\n")
        self.assertEqual(self.predict("tail.csv").splitlines(), reference.splitlines()[-7:])

    def test_undefined_scores_are_null(self):
        self.train()
        lines = self.test.splitlines()
        positive = [l for l in lines if b">50K" in l]
        negative = [l for l in lines if b"<=50K" in l]
        for rows, count in ((positive, len(positive)), (negative, len(negative)), ([], 0)):
            self.write("one.csv", b"\n".join([lines[0]] + rows) + b"\n")
            score = self.run_json("evaluate", "--checkpoint", "runs/small", "--data", "one.csv")
            self.assertEqual(score["rows"], count)
            self.assertIsNone(score["auc"])
            self.assertEqual(score["logloss"] is None, count == 0)

    def test_auc_of_25_copies_equals_that_of_one(self):
        self.train()
        one = self.run_json("evaluate", "--checkpoint", "runs/small", "--data", source_test())
        with gzip.open(source_test(), "rb") as f:
            text = f.read().strip(b"\n")
        header, body = text.split(b"\n", 1)
        self.write("many.csv", b"\n".join([header] + [body] * 25) + b"\n")
        many = self.run_json("evaluate", "--checkpoint", "runs/small", "--data", "many.csv")
        self.assertEqual(many["rows"], 25 * one["rows"])
        self.assertAlmostEqual(many["auc"], one["auc"], delta=1e-9)

    def test_the_rows_scored_together_change_no_digit(self):
        self.train()
        scores = [self.run_json("evaluate", "--checkpoint", "runs/small", "--data", source_test(), "--batch", rows)
                  for rows in (1, 128, 16280, 16281, 1000000)]
        for score in scores:
            self.assertEqual(score, scores[0])
        reference = self.predict("test.csv")
        for rows in (1, 128, 499, 1000000):
            self.assertEqual(self.predict("test.csv", "--batch", rows), reference)

    def test_the_auc_is_within_1e6_of_the_rank_auc_of_the_predictions(self):
        self.train()
        score = self.run_json("evaluate", "--checkpoint", "runs/small", "--data", source_test())
        predictions = [float(p) for p in self.predict(source_test()).split()]
        with gzip.open(source_test(), "rt") as f:
            labels = [">50K" in line for line in f.read().split("\n")[1:] if line]
        self.assertAlmostEqual(score["auc"], rank_auc(predictions, labels), delta=1e-6)

    def test_unseen_tokens_are_finite_and_known_ones_still_count(self):
        self.train()
        lines = self.test.decode().splitlines()
        names = [n.strip() for n in lines[0].split(",")]
        row = [c.strip() for c in lines[1].split(",")]
        unseen = list(row)
        for column in ("workclass", "education", "occupation"):
            unseen[names.index(column)] = "never seen"
        other = list(unseen)
        other[names.index("marital_status")] = "Divorced" if row[names.index("marital_status")] != "Divorced" else "Married-civ-spouse"
        self.write("unseen.csv", "\n".join([",".join(names), ",".join(unseen), ",".join(unseen), ",".join(other)]) + "\n")
        first = self.predict("unseen.csv")
        a, b, c = first.split()
        self.assertEqual(a, b)
        self.assertNotEqual(a, c)
        self.assertEqual(self.predict("unseen.csv"), first)


class RankAucTest(Case):
    """The AUC, counted on a fixed grid of logits, against the exact one of the predictions' ranks, on every data set."""

    # job, its test file, and how a positive row looks
    SETS = [("adult", "adult/adult.test.csv.gz", lambda row: b">50K" in row),
            ("bank", "bank-marketing/bank-full.test.csv.gz", lambda row: row.rsplit(b";", 1)[1] == b'"yes"'),
            ("a9a", "a9a/a9a.t.libsvm.gz", lambda row: row.startswith(b"+1")),
            ("shoppers", "online-shoppers/online-shoppers.test.csv.gz", lambda row: row.rsplit(b",", 1)[1].strip() in (b"1", b"TRUE")),
            ("mushroom", "mushroom/agaricus_test.libsvm.gz", lambda row: row.startswith(b"1"))]

    def test_it_is_the_exact_one_to_1e6(self):
        for job, name, positive in self.SETS:
            with self.subTest(job):
                path = harness.source(f"tests/data/{name}")
                self.run_tessera("train", harness.source(f"deploy/jobs/{job}.yaml"), "--set", "training.epochs=1", "--set", "model.hidden=[8]")
                score = self.run_json("evaluate", "--checkpoint", f"runs/{job}", "--data", path)
                self.run_tessera("predict", "--checkpoint", f"runs/{job}", "--data", path, "--output", "out.csv")
                with open(self.path("out.csv"), "rb") as f:
                    predictions = [float(line) for line in f]
                with gzip.open(path, "rb") as f:
                    rows = [row for row in f.read().splitlines() if row.strip()]
                labels = [positive(row) for row in rows[len(rows) - len(predictions):]]
                self.assertEqual(score["rows"], len(predictions))
                self.assertAlmostEqual(score["auc"], rank_auc(predictions, labels), delta=1e-6)


def source_test():
    return harness.source("tests/data/adult/adult.test.csv.gz")


def rank_auc(scores, labels):
    order = sorted(range(len(scores)), key=lambda i: scores[i])
    total = negatives = 0
    i = 0
    while i < len(order):
        j = i
        while j < len(order) and scores[order[j]] == scores[order[i]]:
            j += 1
        p = sum(labels[k] for k in order[i:j])
        n = j - i - p
        total += p * (2 * negatives + n)
        negatives += n
        i = j
    return total / 2 / (len(labels) - negatives) / negatives


if __name__ == "__main__":
    harness.main()
