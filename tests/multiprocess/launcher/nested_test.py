"""`weft run` inside of a rank of `weft run`."""

import os
import re
import unittest

from launcher import RANK, WEFT, run, with_enough_time

DEADLOCK = os.path.join(os.environ["WEFTDEV_BIN_DIR"], "example-deadlock")


class NestedTest(unittest.TestCase):
    def test_the_ranks_of_an_inner_job_know_nothing_of_the_outer_one(self):
        script = f'"{WEFT}" run -n 2 sh -c "env | grep ^WEFT_ | sort"'
        result = run("-n", 1, "--explain", 50, "sh", "-c", script)
        self.assertEqual(result.returncode, 0, result.stderr)
        names = {line.split("=")[0] for line in result.stdout.splitlines()}
        self.assertLessEqual(names, {"WEFT_RANK", "WEFT_SIZE", "WEFT_JOB", "WEFT_BOOTSTRAP", "WEFT_BOOTSTRAP_SOCKET", "WEFT_START_PROCESSOR"})

    def test_inner_jobs_run_in_every_rank(self):
        result = run("-n", 2, WEFT, "run", "-n", 3, RANK, "gather")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(sorted(result.stdout.splitlines()), sorted(2 * [f"rank {rank} of 3" for rank in range(3)]))

    def test_an_outer_job_does_not_explain_the_ranks_of_an_inner_one(self):
        result = with_enough_time(
            lambda seconds: run("-n", 2, "--explain", seconds, WEFT, "run", "-n", 2, "--timeout", 3 * seconds, DEADLOCK),
            lambda result: "weft run: the job has not ended." in result.stderr)
        self.assertIn("weft run: the job has not ended.", result.stderr)
        self.assertNotRegex(result.stderr, r"Rank 0 waits")
        self.assertRegex(result.stderr, r"the job did not end within \d+ s")

    def test_an_inner_job_explains_its_own_ranks(self):
        waits = re.compile(r"Rank 0 waits at .* for a message from rank 1")
        result = with_enough_time(lambda seconds: run("-n", 1, "--explain", 90, WEFT, "run", "-n", 2, "--explain", seconds, "--timeout",
                                                      3 * seconds + 1, DEADLOCK),
                                  lambda result: waits.search(result.stderr))
        self.assertRegex(result.stderr, waits)


if __name__ == "__main__":
    unittest.main()
