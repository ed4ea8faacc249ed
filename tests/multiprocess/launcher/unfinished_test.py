"""Ranks that end with code 0 although the job still needs them."""

import unittest

from launcher import RANK, run, shell

LEFT = r"weft run: rank 2 \(pid \d+\) exited with code 0 without leaving the job: its weft::Runtime was not destroyed"
ABSENT = r"weft run: rank 2 \(pid \d+\) exited with code 0 before it joined the job, which rank \d has joined"


class UnfinishedTest(unittest.TestCase):
    def expect(self, behaviour, line):
        result = run("-n", 3, "--timeout", 60, RANK, behaviour)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertRegex(result.stderr, line)

    def test_a_rank_that_ends_without_leaving_is_named_and_ends_the_job(self):
        self.expect("last-exits-inside", LEFT)

    def test_a_rank_that_ends_without_leaving_ends_a_job_that_waits_in_a_barrier(self):
        result = run("-n", 3, "--timeout", 60, RANK, "last-exits-inside-a-barrier")
        self.assertNotIn(result.returncode, (0, 124))
        self.assertRegex(result.stderr, "rank 2 .*exited with code 0 without")

    def test_a_rank_that_never_joins_is_named_and_ends_the_job(self):
        self.expect("last-never-joins", ABSENT)

    def test_a_rank_that_has_ended_is_named_when_another_one_joins_later(self):
        self.expect("others-join-later", ABSENT)

    def test_a_rank_whose_program_was_lost_inside_of_a_script_is_named(self):
        result = run("-n", 2, "--timeout", 60, "sh", "-c", f'"{RANK}" last-exits-inside; exit 0')
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertRegex(result.stderr, r"rank 1 \(pid \d+\) exited with code 0 without leaving the job")

    def test_a_job_that_keeps_going_only_tells_and_returns_not_0(self):
        script = f'[ $WEFT_RANK = 1 ] && exit 0; "{RANK}" job'
        result = run("-n", 2, "--keep-going", "--timeout", 60, "sh", "-c", script)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertRegex(result.stderr, r"weft run: 1 of 2 ranks failed: rank 1 \(pid \d+\) exited with code 0 before it joined")

    def test_ranks_of_which_none_joins_are_no_concern(self):
        self.assertEqual(shell(3, "exit 0").returncode, 0)

    def test_a_rank_that_leaves_in_order_before_the_others_is_well(self):
        result = run("-n", 3, RANK, "job")
        self.assertEqual((result.returncode, result.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
