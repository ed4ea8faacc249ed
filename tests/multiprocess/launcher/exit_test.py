"""How jobs end, and what `weft run` says and returns."""

import signal
import tempfile
import unittest

from launcher import RANK, Job, run, shell, with_enough_time


class ExitTest(unittest.TestCase):
    def test_a_job_whose_ranks_all_succeed_returns_0_and_says_nothing(self):
        result = shell(3, "exit 0")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))

    def test_a_rank_finds_its_number_and_the_size_in_its_environment(self):
        result = shell(3, "echo $WEFT_RANK/$WEFT_SIZE")
        self.assertEqual(sorted(result.stdout.split()), ["0/3", "1/3", "2/3"])
        self.assertEqual(shell(1, "echo $WEFT_RANK/$WEFT_SIZE").stdout, "0/1\n")

    def test_what_a_rank_starts_finds_them_too(self):
        result = shell(2, "sh -c 'sh -c \"echo \\$WEFT_RANK/\\$WEFT_SIZE\"'")
        self.assertEqual((result.returncode, sorted(result.stdout.split())), (0, ["0/2", "1/2"]))

    def test_the_exit_code_of_a_failing_rank_is_named_and_returned_and_the_others_are_ended(self):
        result = shell(3, "if [ $WEFT_RANK = 1 ]; then exit 3; fi; exec sleep 1000")
        self.assertEqual(result.returncode, 3)
        self.assertRegex(result.stderr, r"^weft run: rank 1 \(pid \d+\) exited with code 3\n$")

    def test_the_signal_that_kills_a_rank_is_named_and_returned_as_128_and_its_number(self):
        result = shell(2, "if [ $WEFT_RANK = 0 ]; then kill -SEGV $$; fi; exec sleep 1000")
        self.assertEqual(result.returncode, 128 + signal.SIGSEGV)
        self.assertRegex(result.stderr, r"weft run: rank 0 \(pid \d+\) was killed by signal 11 \(SIGSEGV\)\n")

    def test_the_others_keep_going_when_asked_to_and_the_end_tells_who_failed(self):
        script = ("case $WEFT_RANK in 0) exit 3;; 2) sleep 0.2; kill -KILL $$;; esac; sleep 0.5; echo $WEFT_RANK is done")
        result = shell(4, script, "--keep-going")
        self.assertEqual(result.returncode, 3)
        self.assertEqual(sorted(result.stdout.splitlines()), ["1 is done", "3 is done"])
        self.assertRegex(result.stderr, r"^weft run: 2 of 4 ranks failed: rank 0 \(pid \d+\) exited with code 3; "
                                        r"rank 2 \(pid \d+\) was killed by signal 9 \(SIGKILL\)\n$")
        self.assertEqual(shell(2, "exit 0", "--keep-going").stderr, "")

    def test_a_job_that_keeps_going_still_has_a_time_limit_and_tells_who_failed(self):
        script = "if [ $WEFT_RANK = 1 ]; then exit 7; fi; exec sleep 1000"
        result = with_enough_time(lambda seconds: shell(2, script, "--keep-going", "--timeout", seconds / 2),
                                  lambda result: "ranks failed" in result.stderr)
        self.assertEqual(result.returncode, 124)
        self.assertIn("weft run: 1 of 2 ranks failed: rank 1", result.stderr)

    def test_a_rank_that_ignores_sigterm_is_killed_after_a_grace(self):
        script = "if [ $WEFT_RANK = 1 ]; then sleep 0.2; exit 9; fi; trap '' TERM; while :; do sleep 0.05; done"
        self.assertEqual(shell(2, script).returncode, 9)

    def test_a_rank_may_tidy_up_when_another_one_fails(self):
        with tempfile.TemporaryDirectory() as folder:
            script = ("if [ $WEFT_RANK = 1 ]; then while [ ! -e $FLAG ]; do sleep 0.05; done; exit 9; fi; "
                      "trap 'echo tidied; exit 0' TERM; : > $FLAG; while :; do sleep 0.05; done")
            result = shell(2, script, "--env", f"FLAG={folder}/flag")
        self.assertEqual((result.returncode, result.stdout), (9, "tidied\n"))

    def test_a_job_that_exceeds_its_time_returns_124(self):
        result = shell(2, "exec sleep 1000", "--timeout", "0.2")
        self.assertEqual(result.returncode, 124)
        self.assertEqual(result.stderr, "weft run: the job did not end within 0.2 s (--timeout); --explain SECONDS, with fewer of "
                                        "them, tells who waits for whom\n")

    def test_a_job_within_its_time_is_left_alone(self):
        self.assertEqual(shell(2, "exit 0", "--timeout", "90").returncode, 0)

    def test_sixty_four_ranks_start_join_and_end(self):
        result = run("-n", 64, RANK, "gather")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(set(result.stdout.splitlines())), 64)

    def test_signals_reach_every_rank(self):
        script = "trap 'echo caught; exit 0' USR1; echo up; while :; do sleep 0.05; done"
        with Job(3, "sh", "-c", script) as job:
            job.wait_for_lines(3)
            job.front.send_signal(signal.SIGUSR1)
            code, out, _ = job.finish()
            self.assertEqual((code, out.split()), (0, ["caught"] * 3))

    def test_an_interrupt_that_ends_the_ranks_ends_the_job(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(signal=number), Job(2, "sh", "-c", "echo up; exec sleep 1000") as job:
                job.wait_for_lines(2)
                job.front.send_signal(number)
                code, _, err = job.finish()
                self.assertEqual(code, 128 + number)
                self.assertEqual(err, f"weft run: ended by {number.name}, and the ranks with it\n")
                job.expect_nothing_left()

    def test_an_order_to_end_leaves_ranks_the_time_to_save_what_they_have(self):
        script = "trap 'sleep 3; echo saved; exit 0' TERM; echo up; while :; do sleep 0.05; done"
        with Job(2, "sh", "-c", script) as job:
            job.wait_for_lines(2)
            job.front.send_signal(signal.SIGTERM)
            code, out, err = job.finish()
            self.assertEqual((code, out.split()), (128 + signal.SIGTERM, ["saved"] * 2))
            # The shells tell of their own sleep, which the signal has ended.
            self.assertEqual(err.replace("Terminated\n", ""), "weft run: ended by SIGTERM, and the ranks with it\n")
            job.expect_nothing_left()

    def test_ranks_that_answer_an_interrupt_themselves_decide_how_the_job_ends(self):
        script = "trap 'echo caught; exit 0' INT; echo up; while :; do sleep 0.05; done"
        with Job(2, "sh", "-c", script) as job:
            job.wait_for_lines(2)
            job.front.send_signal(signal.SIGINT)
            code, out, err = job.finish()
            self.assertEqual((code, out.split(), err), (0, ["caught"] * 2, ""))

    def test_a_rank_that_another_process_kills_has_failed(self):
        result = shell(2, 'test $WEFT_RANK = 1 && kill -TERM $$; exec sleep 1000')
        self.assertEqual(result.returncode, 128 + signal.SIGTERM)
        self.assertRegex(result.stderr, r"^weft run: rank 1 \(pid \d+\) was killed by signal 15 \(SIGTERM\)\n$")


if __name__ == "__main__":
    unittest.main()
