"""Contents are right in the workloads of large messages: over every library that is installed, the largest over weft."""

import unittest

from perf import perf

WORKLOADS = ("outstanding-100", "bandwidth-64k", "reused-64k", "put-bandwidth", "get-bandwidth")
LARGEST = ("outstanding-1000", "bandwidth-1m", "reused-1m")
LIBRARIES = "weft,weft-read,bare-memory,ucp,mpich,openmpi,openmpi-ucx"


class EveryContentOfLargeMessagesTest(unittest.TestCase):
    def verified(self, workloads, libraries):
        result = perf("--verify", "--only", ",".join(workloads), "--compare", libraries, "--seconds", "0.001", "--warm-up", "0.001")
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        lines = [line for line in result.stdout.splitlines() if " is left out: " not in line]
        for line in lines:
            self.assertTrue(line.endswith("messages, 0 lost, 0 duplicated, 0 torn"), line)
            self.assertGreater(int(line.split(" messages,")[0].split()[-1]), 0)
        return {line.split()[0] for line in lines}

    def test_nothing_is_lost_duplicated_or_torn_anywhere(self):
        verified = self.verified(WORKLOADS, LIBRARIES)
        for workload in WORKLOADS:
            self.assertIn(f"{workload}/weft", verified)
        self.assertIn("put-bandwidth/bare-memory", verified)

    def test_nothing_is_lost_duplicated_or_torn_of_the_largest(self):
        self.assertEqual(self.verified(LARGEST, "weft"), {f"{workload}/weft" for workload in LARGEST})

    def test_nothing_is_lost_duplicated_or_torn_of_active_messages(self):
        workloads = ("am-64k", "am-fresh-64k", "am-16m", "am-fresh-1m")
        ours = ("weft-am", "weft-am-16", "weft-am-unbounded")
        verified = self.verified(workloads, ",".join((*ours, "ucp", "mpich", "openmpi", "ofi")))
        for workload in workloads:
            for transport in ours:
                self.assertIn(f"{workload}/{transport}", verified)


if __name__ == "__main__":
    unittest.main()
