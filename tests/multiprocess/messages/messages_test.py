"""Active messages between real processes."""

import os
import unittest

from weft_job import program, run, shared_memory

RANK = program("messages_rank")


class Messages(unittest.TestCase):
    def setUp(self):
        self.before = shared_memory()

    def tearDown(self):
        left = [name for name in shared_memory() if name not in self.before and "weft" in name]
        self.assertEqual(left, [], "left in /dev/shm")

    def succeeds(self, ranks, *arguments):
        result = run(ranks, RANK, *arguments)
        self.assertEqual(result.returncode, 0, f"{result.stdout}\n{result.stderr}")
        return result

    def test_of_all_sizes_arrive_whole(self):
        for ranks in (1, 2, 4):
            for rendezvous in ("read", "copy", "auto"):
                with self.subTest(ranks=ranks, rendezvous=rendezvous):
                    result = self.succeeds(ranks, "all-sizes", "--rendezvous", rendezvous)
                    self.assertEqual(result.stdout.count("messages by"), ranks)

    def test_keep_eight_threads_of_two_ranks_going_that_all_wait(self):
        self.succeeds(2, "many-threads", "--threads", 8)
        self.succeeds(4, "many-threads", "--threads", 2)

    def test_from_ranks_that_end_at_once_all_arrive(self):
        self.succeeds(2, "send-and-leave")
        self.succeeds(4, "send-and-leave")

    def test_go_on_between_ranks_that_remain(self):
        self.succeeds(4, "leave-in-turn")

    def test_a_job_that_only_waits_sleeps(self):
        # A guard against a wait that never parks, not a measurement: that would use a whole core.
        result = self.succeeds(2, "idle")
        shares = [float(line.split()[1]) for line in result.stdout.splitlines() if line.startswith("idle")]
        self.assertEqual(len(shares), 2, result.stdout)
        if not os.environ.get("WEFTDEV_TEST_SANITIZER"):
            self.assertLess(max(shares), 0.2, "an idle rank uses a fifth of a core")

    def test_a_killed_rank_ends_those_that_wait_for_it(self):
        result = run(4, RANK, "killed")
        self.assertEqual(result.returncode, 128 + 9, result.stderr)
        self.assertIn("rank 1", result.stderr)


if __name__ == "__main__":
    unittest.main()
