"""Libraries of one program that open runtimes of their own: by name they meet their like, without names they are told."""

import unittest

from weft_job import program, run

RANK = program("several_runtimes_rank")


class SeveralRuntimes(unittest.TestCase):
    def test_meet_those_of_their_name_in_whatever_order_threads_open_them(self):
        result = run(3, RANK, "named", 30)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout, "done\n" * 3)

    def test_of_one_thread_meet_in_order(self):
        result = run(3, RANK, "ordered", 5)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_of_two_threads_without_names_are_refused(self):
        result = run(2, RANK, "unnamed", 1000)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("RuntimeOptions::name", result.stderr)
        self.assertNotIn("mixed up", result.stderr)


if __name__ == "__main__":
    unittest.main()
