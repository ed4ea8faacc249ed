"""As many ranks as one host may get: what a rank costs does not grow with those that it never talks to."""

import os
import resource
import re
import unittest

from weft_job import program, run, shared_memory

RANK = program("neighbours_rank")
RANKS = 1000
FEW = 8
EVERYBODY = 128
DESCRIPTORS = 6  # that the launcher has open for each rank
MOST_FAULTS_OF_DEPARTURES = 500  # a table with an entry for each packet or region of a segment has more pages
MEMORY = 12 << 20  # more than a rank takes, with its part of what processes share


def most_ranks():
    """1,000, or what the limits of this machine allow."""
    files = (resource.getrlimit(resource.RLIMIT_NOFILE)[1] - 64) // DESCRIPTORS
    with open("/proc/meminfo", encoding="ascii") as lines:
        available = next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))
    return min(RANKS, files, available // MEMORY)


class Neighbours(unittest.TestCase):
    def job(self, ranks, *arguments):
        """Runs a job. Returns the faults of memory of its processes, by rank; the segments that each rank has mapped; and the
        faults of rank 0 while the others left."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt
        result = run(ranks, RANK, *arguments, guard=300)
        faults = resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt - before
        self.assertEqual(result.returncode, 0, f"{result.stdout[-2000:]}\n{result.stderr[-2000:]}")
        lines = re.findall(r"rank (\d+): (\d+) segments, (\d+) faults while others left", result.stdout)
        of_rank = {int(rank): (int(segments), int(left)) for rank, segments, left in lines}
        self.assertEqual(sorted(of_rank), list(range(ranks)), result.stdout[-2000:])
        return faults / ranks, {segments for segments, _ in of_rank.values()}, of_rank[0][1]

    @unittest.skipIf(os.environ.get("WEFTDEV_TEST_SANITIZER"), "shadow memory of a thousand processes")
    def test_a_thousand_ranks_start_talk_to_their_neighbours_and_end(self):
        present = shared_memory()
        few, _, _ = self.job(FEW, "--rounds", 10)
        ranks = most_ranks()
        many, segments, left = self.job(ranks, "--rounds", 10, "--last", 1)
        print(f"{ranks} ranks: {many:.0f} faults of memory for each, {left} in rank 0 while the others left; {FEW} ranks: {few:.0f} for each")
        self.assertEqual(segments, {3}, "its own segment, and those of its neighbours")
        # Tables with a few bytes for each rank of the job remain.
        self.assertLess(many, 1.5 * few)
        self.assertLess(left, MOST_FAULTS_OF_DEPARTURES)
        self.assertEqual([name for name in shared_memory() if name not in present and "weft" in name], [], "left in /dev/shm")

    def test_ranks_that_leave_cost_those_that_stay_no_memory(self):
        _, segments, left = self.job(FEW, "--rounds", 10, "--last", 1)
        self.assertEqual(segments, {3})
        self.assertLess(left, MOST_FAULTS_OF_DEPARTURES)

    def test_everybody_greets_everybody(self):
        ranks = 16 if os.environ.get("WEFTDEV_TEST_SANITIZER") else EVERYBODY
        _, segments, left = self.job(ranks, "--all", 1, "--last", 1)
        self.assertEqual(segments, {ranks})
        self.assertLess(left, MOST_FAULTS_OF_DEPARTURES + ranks)


if __name__ == "__main__":
    unittest.main()
