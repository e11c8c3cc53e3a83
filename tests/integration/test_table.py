"""Rows that are admitted late and evicted early: the same bits everywhere, and what `tessera table` says of them."""
import os

import harness
from harness import Case

SMALL = ["--set", "training.epochs=3", "--set", "training.batch_size=64", "--set", "model.hidden=[16]", "--set", "model.embedding_dim=4"]
# The counts are saved with every checkpoint: with the default of 16 MiB that would be most of the work.
RULES = ["--set", "admission.sightings=3", "--set", "admission.memory=64KiB", "--set", "eviction.rows=512", "--set", "eviction.unused_steps=20",
         "--set", "eviction.norm=0.001"]


class TableTest(Case):
    def start_job(self, *settings):
        """Two servers by hand, which stay when the job is done; returns their addresses."""
        job = self.small_adult(1025)
        servers = ",".join(f"127.0.0.1:{harness.free_port()}" for _ in range(2))
        for shard in range(2):
            self.start("tessera-ps", "--job", job, *SMALL, *settings, "--shard", shard, "--servers", servers)
        self.finish(self.start("tessera-worker", "--coordinator", servers.split(",")[0]))
        return servers

    def describe(self, servers):
        """The table; every server's rows must add up."""
        table = self.run_json("table", "describe", "--servers", servers)
        for part in [table] + [server["table"] for server in table["servers"]]:
            self.assertEqual(part["inserted"], part["rows"] + part["evicted"] + part["refused"])
        return table

    def test_admission_and_eviction_decide_alike_at_any_number_of_servers(self):
        job = self.small_adult(1025)
        for count in ("running", "before"):
            digests = {}
            for layout in (None, (1, 1), (2, 2), (3, 1)):
                folder = self.path(f"{count}-{layout}")
                os.mkdir(folder)
                how = ["train"] if layout is None else ["cluster", "run", "--servers", layout[0], "--workers", layout[1]]
                result = self.run_json(*how, job, *SMALL, *RULES, "--set", f"admission.count={count}", "--set", "training.shares=2", cwd=folder)
                digests[layout] = result["content_digest"]
            self.assertEqual(len(set(digests.values())), 1, f"{count}: {digests}")

    def test_rows_add_up_and_a_dry_run_is_what_the_real_one_does(self):
        servers = self.start_job(*RULES)
        before = self.describe(servers)
        self.assertGreater(before["evicted"], 0)
        self.assertGreater(before["refused"], 0)
        self.assertLessEqual(before["rows"], 512)
        listed = self.run_json("table", "evict", "--servers", servers, "--rows", 256, "--dry-run")
        self.assertEqual(self.describe(servers)["rows"], before["rows"])
        removed = self.run_json("table", "evict", "--servers", servers, "--rows", 256)
        self.assertGreater(removed["rows"], 0)
        self.assertEqual(removed["ids"], listed["ids"])
        after = self.describe(servers)
        self.assertEqual(after["rows"], before["rows"] - removed["rows"])
        self.assertEqual(after["evicted"], before["evicted"] + removed["rows"])

    def test_a_row_is_found_by_what_stands_in_the_data(self):
        servers = self.start_job("--set", "eviction.protect=features")
        row = self.run_json("table", "get", "--servers", servers, "sex=Male")
        self.assertTrue(row["found"])
        self.assertGreater(row["show"], 1000)
        self.assertEqual(len(row["values"]), 5)
        self.assertFalse(self.run_json("table", "get", "--servers", servers, "sex=nobody")["found"])
        _, err = self.run_tessera("table", "get", "--servers", servers, "no_such_field=1", expect=2)
        self.assertIn("there are", err)
        self.assertEqual(self.run_json("table", "evict", "--servers", servers, "--rows", 256)["rows"], 0, "the table is protected")

    def test_a_rule_that_says_something_else_than_it_does_is_refused(self):
        for flag, value, word in (("--rows", 255, "at least 256"), ("--unused-steps", 0, "more than 0"),
                                  ("--unused-periods", 0, "more than 0"), ("--norm", -1, "above 0"), ("--norm", "nan", "above 0")):
            _, err = self.run_tessera("table", "evict", "--servers", "127.0.0.1:1", flag, value, expect=2)
            self.assertIn(word, err)


if __name__ == "__main__":
    harness.main()
