"""Messages of programs that only poll come once and in one piece, with both windows."""

import unittest

from perf import perf

WORKLOADS = ("polling-1", "polling-2", "polling-4", "polling-shared-1", "polling-shared-2", "polling-shared-4")


class EveryContentOfPollersTest(unittest.TestCase):
    def verify(self, only):
        result = perf("--verify", "--only", only, "--seconds", "0.001", "--warm-up", "0.001")
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        lines = [line for line in result.stdout.splitlines() if " is left out: " not in line]
        for line in lines:
            self.assertTrue(line.endswith("messages, 0 lost, 0 duplicated, 0 torn"), line)
            self.assertGreater(int(line.split(" messages,")[0].split()[-1]), 0)
        return [line.split()[0] for line in lines]

    def test_nothing_is_lost_duplicated_or_torn_over_weft(self):
        verified = self.verify(",".join(f"{workload}/weft" for workload in WORKLOADS))
        self.assertEqual(sorted(verified), sorted(2 * [f"{workload}/weft" for workload in WORKLOADS]))

    def test_nothing_is_lost_duplicated_or_torn_over_mpi_with_a_thread_per_rank(self):
        self.verify("polling-1")


if __name__ == "__main__":
    unittest.main()
