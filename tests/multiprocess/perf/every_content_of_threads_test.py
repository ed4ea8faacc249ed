"""Contents are right in every workload of more threads or ranks than two, over every library that is installed."""

import unittest

from perf import perf

WORKLOADS = ("threads-1", "threads-2", "threads-4", "shared-2", "shared-4", "pairs-1", "pairs-2", "pairs-4", "pairs-shared-2",
             "pairs-shared-4", "many-to-one", "all-to-all")
STREAMS = ("rate-threads-1", "rate-threads-2", "rate-threads-4", "rate-threads-8", "rate-shared-2", "rate-shared-4", "rate-shared-8")


class EveryContentOfThreadsTest(unittest.TestCase):
    def test_nothing_is_lost_duplicated_or_torn_anywhere(self):
        result = perf("--verify", "--only", ",".join(WORKLOADS + STREAMS), "--seconds", "0.001", "--warm-up", "0.001")
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        lines = [line for line in result.stdout.splitlines() if " is left out: " not in line]
        for line in lines:
            self.assertTrue(line.endswith("messages, 0 lost, 0 duplicated, 0 torn"), line)
            self.assertGreater(int(line.split(" messages,")[0].split()[-1]), 0)
        verified = {line.split()[0] for line in lines}
        for workload in WORKLOADS:
            self.assertIn(f"{workload}/weft", verified)
        for workload in STREAMS:
            self.assertIn(f"{workload}/weft-am", verified)
            self.assertEqual(f"{workload}/weft-am-serial" in verified, "threads" in workload)


if __name__ == "__main__":
    unittest.main()
