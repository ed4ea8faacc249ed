"""Contents are right in every workload of small messages and two threads, over every library that is installed."""

import unittest

from perf import perf

WORKLOADS = ("matched", "matched-latency", "exchange", "matching", "unexpected", "matched-unacknowledged", "put-rate", "get-rate", "add-rate",
             "fetch-add-rate")
WILDCARDS = ("matched-any-source", "matched-any-tag", "unexpected-any-source", "unexpected-any-tag")  # of ordered engines
LIBRARIES = "weft-serial,weft,weft-ordered,bare-memory,ucp,mpich,openmpi,openmpi-ucx"


class EveryContentTest(unittest.TestCase):
    def test_nothing_is_lost_duplicated_or_torn_anywhere(self):
        result = perf("--verify", "--only", ",".join(WORKLOADS + WILDCARDS), "--compare", LIBRARIES, "--seconds", "0.001", "--warm-up", "0.001")
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        lines = [line for line in result.stdout.splitlines() if " is left out: " not in line]
        for line in lines:
            self.assertTrue(line.endswith("messages, 0 lost, 0 duplicated, 0 torn"), line)
            self.assertGreater(int(line.split(" messages,")[0].split()[-1]), 0)
        verified = {line.split()[0] for line in lines}
        for workload in WORKLOADS:
            self.assertIn(f"{workload}/weft", verified)
        for workload in WILDCARDS:
            self.assertIn(f"{workload}/weft-ordered", verified)
        self.assertIn("put-rate/bare-memory", verified)


if __name__ == "__main__":
    unittest.main()
