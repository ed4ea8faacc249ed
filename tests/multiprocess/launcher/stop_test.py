"""Jobs that are stopped from the terminal (Ctrl-Z) and continued."""

import signal
import time
import unittest

from launcher import RANK, Job, wait_until, with_enough_time


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
        def stopped_for(limit):
            with Job(2, "sh", "-c", f"echo up; sleep {limit - 2}; echo done", options=("--timeout", str(limit))) as job:
                job.wait_for_lines(2)
                job.front.send_signal(signal.SIGTSTP)
                wait_until(lambda: state(job.front.pid) == "T", "the launcher is stopped")
                time.sleep(limit)
                job.front.send_signal(signal.SIGCONT)
                return job.finish()

        code, out, err = with_enough_time(stopped_for, lambda ended: ended[0] == 0, (5, 25))
        self.assertEqual((code, out), (0, "done\ndone\n"), err)

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
