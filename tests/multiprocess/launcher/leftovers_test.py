"""Nothing of a job is left behind, however it ends."""

import os
import signal
import unittest

from launcher import RANK, Job, wait_until

# Each rank has a child in its group and one in a session of its own, both deaf to SIGTERM.
GRANDCHILDREN = "trap '' TERM; sleep 1000 & setsid sleep 1000 & echo up; "


def sockets_of_jobs():
    with open("/proc/net/unix") as file:
        return {line.split()[-1] for line in file if "@weft-" in line}


class LeftoversTest(unittest.TestCase):
    def test_grandchildren_do_not_survive_ranks_that_succeed(self):
        with Job(2, "sh", "-c", GRANDCHILDREN + "exit 0") as job:
            code, _, err = job.finish()
            self.assertEqual((code, err), (0, ""))
            self.assertEqual(job.processes(), [])

    def test_grandchildren_do_not_survive_a_rank_that_fails(self):
        with Job(2, "sh", "-c", GRANDCHILDREN + "[ $WEFT_RANK = 0 ] || exit 3; wait") as job:
            code, _, _ = job.finish()
            self.assertEqual(code, 3)
            self.assertEqual(job.processes(), [])

    def test_nothing_survives_a_time_out(self):
        with Job(2, "sh", "-c", GRANDCHILDREN + "wait", options=("--timeout", "0.3")) as job:
            self.assertEqual(job.finish()[0], 124)
            self.assertEqual(job.processes(), [])

    def test_nothing_survives_the_killing_of_the_front_process(self):
        with Job(3, "sh", "-c", GRANDCHILDREN + "wait") as job:
            job.wait_for_lines(3)
            job.front.kill()
            job.front.wait()
            job.expect_nothing_left()

    def test_nothing_survives_the_killing_of_the_guardian(self):
        with Job(3, "sh", "-c", GRANDCHILDREN + "wait") as job:
            job.wait_for_lines(3)
            wait_until(lambda: job.guardian() is not None, "the guardian is found")
            os.kill(job.guardian(), signal.SIGKILL)
            code, _, err = job.finish()
            self.assertEqual(code, 128 + signal.SIGKILL)
            self.assertIn("guardian process", err)
            self.assertEqual(job.processes(), [])

    def test_nothing_survives_when_all_ranks_are_killed(self):
        with Job(3, RANK, "wait") as job:
            job.wait_for_lines(3)
            launcher = (job.front.pid, job.guardian())
            job.kill(process for process in job.processes() if process not in launcher)
            self.assertEqual(job.finish()[0], 128 + signal.SIGKILL)
            self.assertEqual(job.processes(), [])

    def test_the_bootstrap_socket_ends_with_the_launcher(self):
        before = sockets_of_jobs()
        with Job(2, RANK, "wait") as job:
            job.wait_for_lines(2)
            own = sockets_of_jobs() - before
            self.assertTrue(own)
            job.front.kill()
            job.front.wait()
            job.expect_nothing_left()
        wait_until(lambda: not own & sockets_of_jobs(), "the socket is gone")

    def test_an_outsider_that_the_launcher_inherited_is_left_alone(self):
        # The shell's child becomes a child of `weft run` by exec, and belongs to no job.
        weft = f'"{os.environ["WEFTDEV_BIN_DIR"]}/weft"'
        job = Job(1, "sh", "-c", f"sleep 1000 & echo $!; exec {weft} run -n 2 true")
        with job:
            # The inner `weft run` returns although the sleep still runs; the outer one then ends it.
            code, out, err = job.finish()
            self.assertEqual(code, 0, err)
            self.assertEqual(len(out.split()), 1)
            self.assertEqual(job.processes(), [])


if __name__ == "__main__":
    unittest.main()
