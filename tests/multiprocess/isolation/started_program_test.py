"""Programs between the launcher and a rank, and programs that a rank starts: one process of a rank is in the job at a time."""

import shutil
import unittest

from weft_job import program, run

RANK = program("started_program_rank")


def everybody(ranks):
    return [f"rank {rank} of {ranks}" for rank in range(ranks)]


class StartedProgram(unittest.TestCase):
    def test_of_a_rank_is_told_that_it_is_none(self):
        for command in (f"{RANK} join", f"exec {RANK} join", f"sh -c '{RANK} join; exit $?'"):
            with self.subTest(command=command):
                result = run(2, RANK, "system", command)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertIn("started: 1\n", result.stdout)
                self.assertIn("asks to join the job as rank 0", result.stderr)
                self.assertIn("env -u WEFT_BOOTSTRAP", result.stderr)

    def test_of_a_rank_runs_alone_without_the_variable(self):
        result = run(2, RANK, "system", f"env -u WEFT_BOOTSTRAP {RANK} join")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(sorted(result.stdout.splitlines()), ["rank 0 of 1", *everybody(2), "started: 0"])

    def test_in_front_of_a_rank_makes_no_difference(self):
        wrappers = [("env", "A=b"), ("sh", "-c", 'exec "$@"', "sh"), ("sh", "-c", '"$@"; exit $?', "sh"), ("timeout", "60"), ("nice",),
                    ("sh", "-c", '"$@" & wait $!', "sh")]
        wrappers += [tool for tool in (("numactl", "--all"), ("setsid", "--wait"), ("stdbuf", "-oL")) if shutil.which(tool[0])]
        for wrapper in wrappers:
            with self.subTest(wrapper=wrapper):
                result = run(2, *wrapper, RANK, "join")
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertEqual(sorted(result.stdout.splitlines()), everybody(2))

    def test_that_follows_another_one_is_the_rank_again(self):
        result = run(2, "sh", "-c", f"{RANK} join && {RANK} join")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(sorted(result.stdout.splitlines()), sorted(everybody(2) * 2))

    def test_that_a_rank_becomes_after_its_runtimes_is_the_rank_again(self):
        result = run(2, RANK, "exec", RANK, "exec", RANK, "join")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(sorted(result.stdout.splitlines()), everybody(2))


if __name__ == "__main__":
    unittest.main()
