"""A rank makes child processes while its runtime is open: they end as they like, and the job does not notice."""

import unittest

from weft_job import program, run

RANK = program("fork_rank")
REFUSED = "is a copy that fork() made of a process with a weft::Runtime"
THROWING = ("post", "post_large", "send", "prepared", "put", "receive", "expose", "barrier", "endpoint", "device", "runtime", "region")
ENDING = ("progress", "wait")


class Children(unittest.TestCase):
    def job(self, how, end):
        result = run(2, RANK, how, end)
        self.assertEqual(result.returncode, 0, result.stderr + result.stdout)
        for rank in range(2):
            self.assertIn(f"rank {rank} fine\n", result.stdout)
        return result

    def test_end_in_any_way_without_a_word_to_the_job(self):
        for end in ("_exit", "exit", "return", "static", "exec"):
            with self.subTest(end=end):
                result = self.job("fork", end)
                self.assertIn("child: exit 0\n", result.stdout)
                self.assertEqual(result.stderr, "")

    def test_made_without_the_handlers_of_fork_end_likewise(self):
        for end in ("_exit", "return"):
            with self.subTest(end=end):
                self.assertIn("child: exit 0\n", self.job("bare", end).stdout)

    def test_that_execute_programs_at_once_are_like_any(self):
        for how in ("system", "popen", "spawn", "vfork"):
            with self.subTest(how=how):
                self.assertIn("child: exit 0\n", self.job(how, "-").stdout)

    def test_that_live_longer_than_their_rank_end_with_the_job(self):
        self.assertEqual(self.job("fork", "helper").stderr, "")

    def test_are_told_when_they_use_weft(self):
        for end in THROWING:
            with self.subTest(use=end):
                result = self.job("fork", end)
                self.assertIn(REFUSED, result.stderr)
                self.assertIn("child: exit 1\n", result.stdout)

    def test_are_ended_when_they_progress(self):
        for end in ENDING:
            with self.subTest(use=end):
                result = self.job("fork", end)
                self.assertIn(REFUSED, result.stderr)
                self.assertIn("child: signal 6\n", result.stdout)


if __name__ == "__main__":
    unittest.main()
