"""Jobs that are stopped from the terminal (Ctrl-Z) and continued."""

import signal
import time
import unittest

from launcher import RANK, Job, wait_until


def state(process):
    with open(f"/proc/{process}/stat") as file:
        return file.read().rpartition(")")[2].split()[0]


class StopTest(unittest.TestCase):
    def ranks(self, job):
        return [process for process in job.processes() if process not in (job.front.pid, job.guardian())]

    def test_the_ranks_are_stopped_and_continued_with_the_launcher(self):
        with Job(2, RANK, "counts") as job:
            job.wait_for_lines(4)
            ranks = self.ranks(job)
            self.assertEqual(len(ranks), 2)
            job.front.send_signal(signal.SIGTSTP)
            wait_until(lambda: all(state(process) == "T" for process in [*ranks, job.front.pid]), "all are stopped")
            job.front.send_signal(signal.SIGCONT)
            wait_until(lambda: all(state(process) != "T" for process in [*ranks, job.front.pid]), "all go on")
            job.wait_for_lines(4)
            job.front.send_signal(signal.SIGTERM)
            job.finish()
            job.expect_nothing_left()

    def test_the_time_of_a_stopped_job_does_not_pass(self):
        with Job(2, "sh", "-c", "echo up; sleep 3; echo done", options=("--timeout", "5")) as job:
            job.wait_for_lines(2)
            ranks = self.ranks(job)
            job.front.send_signal(signal.SIGTSTP)
            wait_until(lambda: state(job.front.pid) == "T", "the launcher is stopped")
            time.sleep(5)
            job.front.send_signal(signal.SIGCONT)
            code, out, err = job.finish()
            self.assertEqual((code, out), (0, "done\ndone\n"), err)
            self.assertTrue(ranks)

    def test_a_stopped_job_can_be_ended(self):
        with Job(2, RANK, "counts") as job:
            job.wait_for_lines(2)
            job.front.send_signal(signal.SIGTSTP)
            wait_until(lambda: state(job.front.pid) == "T", "the launcher is stopped")
            job.front.kill()
            job.front.wait()
            job.expect_nothing_left()


if __name__ == "__main__":
    unittest.main()
