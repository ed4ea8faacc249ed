"""Puts and gets between real processes: by mapping, by cross-memory attach, and by messages."""

import unittest

from weft_job import environment, first, program, run, shared_memory

RANK = program("one_sided_rank")
PATHS = ("auto", "message")


class OneSided(unittest.TestCase):
    def setUp(self):
        self.before = shared_memory()

    def tearDown(self):
        left = [name for name in shared_memory() if name not in self.before and "weft" in name]
        self.assertEqual(left, [], "left in /dev/shm")

    def succeeds(self, ranks, path, *arguments):
        result = run(ranks, RANK, *arguments, env=environment(WEFT_ONE_SIDED=path))
        self.assertEqual(result.returncode, 0, f"{result.stdout}\n{result.stderr}")
        return result

    def test_every_rank_reaches_every_rank(self):
        for ranks in first((4, 1, 2, 8)):
            for path in PATHS:
                for memory, by in (("allocated", "map"), ("allocated", "key"), ("registered", "key")):
                    with self.subTest(ranks=ranks, path=path, memory=memory, by=by):
                        result = self.succeeds(ranks, path, "exchange", "--memory", memory, "--by", by)
                        self.assertEqual(result.stdout.count("exchanged"), ranks)

    def test_forged_and_stale_keys_reach_nothing(self):
        for path in PATHS:
            with self.subTest(path=path):
                self.succeeds(3, path, "forge")

    def test_regions_that_come_and_go_leave_nothing_open(self):
        for path in PATHS:
            with self.subTest(path=path):
                self.succeeds(3, path, "leak")

    def test_a_rank_that_leaves_ends_the_puts_into_it(self):
        for path in PATHS:
            with self.subTest(path=path):
                self.assertEqual(self.succeeds(3, path, "leave").stdout.count("noticed"), 2)


if __name__ == "__main__":
    unittest.main()
