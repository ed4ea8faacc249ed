"""Workloads of single messages, of threads and of ranks tell figures over every library that is installed."""

import json
import unittest

from perf import perf

WORKLOADS = ("unexpected", "matched-unacknowledged", "threads-1", "pairs-2", "pairs-shared-2", "many-to-one", "all-to-all")


class EveryFigureTest(unittest.TestCase):
    def test_every_library_tells_a_figure(self):
        for workload in WORKLOADS:
            with self.subTest(workload):
                result = perf("--rounds", "1", "--seconds", "0.001", "--warm-up", "0.001", "--only", workload, "--json", "-")
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                measurements = json.loads(result.stdout)["measurements"]
                self.assertIn(f"{workload}/weft", [each["name"] for each in measurements])
                for each in measurements:
                    self.assertGreater(each["figure"]["median"], 0)


if __name__ == "__main__":
    unittest.main()
