"""Programs that join a job: through `weft run`, alone, and under launchers that are not supported."""

import subprocess
import threading
import unittest

from launcher import HANG_GUARD, RANK, environment, run


def alone(what, **env):
    return subprocess.run([RANK, what], capture_output=True, text=True, timeout=HANG_GUARD, env=environment(**env))


class BootstrapTest(unittest.TestCase):
    def test_every_rank_joins(self):
        result = run("-n", 4, RANK, "gather")
        self.assertEqual(sorted(result.stdout.splitlines()), [f"rank {rank} of 4" for rank in range(4)])

    def test_a_program_without_a_launcher_is_rank_0_of_1(self):
        result = alone("gather")
        self.assertEqual((result.returncode, result.stdout), (0, "rank 0 of 1\n"))

    def test_a_foreign_launcher_is_named_instead_of_running_alone(self):
        for variables in ({"PMI_RANK": "1"}, {"PMI_FD": "7"}, {"PMIX_RANK": "0"}, {"PMIX_NAMESPACE": "job"},
                          {"SLURM_PROCID": "3", "SLURM_NTASKS": "4"},
                          {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2"}):
            with self.subTest(variables=variables):
                result = alone("gather", **variables)
                self.assertEqual((result.returncode, result.stdout), (40, ""))
                self.assertIn(next(iter(variables)) + "=", result.stderr)
                self.assertRegex(result.stderr, "weft run -n N|the launcher sets PMI_FD|start the program with srun")

    def test_a_batch_script_of_one_task_is_no_launcher(self):
        self.assertEqual(alone("gather", SLURM_PROCID="0", SLURM_NTASKS="1").returncode, 0)

    def test_weft_run_inside_a_foreign_launcher_works(self):
        result = run("-n", 2, RANK, "gather", env=environment(PMI_RANK="0", SLURM_PROCID="0", SLURM_NTASKS="4"))
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_two_runs_at_once_never_meet(self):
        results = {}

        def start(number):
            results[number] = run("-n", 3, RANK, "job")

        threads = [threading.Thread(target=start, args=(number,)) for number in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        ids = [set(results[number].stdout.split()) for number in range(2)]
        self.assertEqual([len(group) for group in ids], [1, 1])
        self.assertFalse(ids[0] & ids[1])

    def test_a_process_may_have_several_runtimes(self):
        result = run("-n", 3, RANK, "twice")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(set(result.stdout.splitlines())), 1)
        first, second = result.stdout.splitlines()[0].split()
        self.assertNotEqual(first, second)

    def test_a_rank_may_be_several_programs_in_sequence(self):
        result = run("-n", 3, "sh", "-c", f'"{RANK}" gather && "{RANK}" gather')
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(result.stdout.splitlines()), 6)

    def test_a_barrier_without_a_rank_that_has_exited_fails_and_says_how_it_ended(self):
        result = run("-n", 3, RANK, "last-leaves-early")
        self.assertEqual(result.returncode, 40)
        self.assertRegex(result.stderr, "rank 2 (exited with code 0|has left the job).* without joining the barrier")

    def test_an_abort_ends_the_job_with_its_code_and_reason(self):
        result = run("-n", 3, RANK, "last-aborts")
        self.assertEqual(result.returncode, 7)
        self.assertRegex(result.stderr, r"weft run: rank 2 \(pid \d+\) aborted the job with code 7: the input is broken\n")

    def test_ranks_that_wait_for_a_rank_that_crashes_are_ended(self):
        result = run("-n", 3, RANK, "last-crashes")
        self.assertEqual(result.returncode, 128 + 11)
        self.assertIn("rank 2", result.stderr)

    def test_an_abort_without_a_launcher_ends_the_program_with_its_code(self):
        result = alone("last-aborts")
        self.assertEqual(result.returncode, 7)
        self.assertIn("the input is broken", result.stderr)

    def test_a_launcher_that_has_ended_is_named(self):
        job = "0123456789abcdef" * 2
        result = alone("gather", WEFT_BOOTSTRAP="weft-" + job, WEFT_JOB=job, WEFT_RANK="0", WEFT_SIZE="2")
        self.assertEqual(result.returncode, 40)
        self.assertIn("cannot be reached", result.stderr)

    def test_damaged_variables_of_the_launcher_are_named(self):
        job = "0123456789abcdef" * 2
        good = {"WEFT_BOOTSTRAP": "weft-" + job, "WEFT_JOB": job, "WEFT_RANK": "0", "WEFT_SIZE": "2"}
        for name, value in (("WEFT_RANK", "2"), ("WEFT_RANK", "x"), ("WEFT_SIZE", "0"), ("WEFT_JOB", "short"),
                            ("WEFT_BOOTSTRAP", "y" * 200)):
            with self.subTest(name=name, value=value):
                result = alone("gather", **{**good, name: value})
                self.assertEqual(result.returncode, 40)
                self.assertIn(value, result.stderr)


if __name__ == "__main__":
    unittest.main()
