"""Where ranks start that are not bound: each on a core of its own, and free to run anywhere; and their sessions."""

import os
import subprocess
import sys
import unittest

from launcher import HANG_GUARD, WEFT, environment

TELL = 'echo $WEFT_START_PROCESSOR $(grep Cpus_allowed_list /proc/self/status | cut -f 2)'


class PlacementTest(unittest.TestCase):
    def places(self, ranks, *options, processors=None):
        """For each rank: the processor that it starts on, and those that it may run on."""
        allowed = sorted(os.sched_getaffinity(0)) if processors is None else processors
        result = subprocess.run([WEFT, "run", "-n", str(ranks), *options, "--", "sh", "-c", TELL], stdin=subprocess.DEVNULL, capture_output=True,
                                text=True, timeout=HANG_GUARD, env=environment(), preexec_fn=lambda: os.sched_setaffinity(0, allowed))
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return [line.split() for line in result.stdout.splitlines()]

    def cores(self):
        """One processor of each core that this process may use."""
        found = {}
        for processor in sorted(os.sched_getaffinity(0)):
            try:
                with open(f"/sys/devices/system/cpu/cpu{processor}/topology/thread_siblings_list", encoding="ascii") as file:
                    core = file.read()
            except OSError:
                core = str(processor)
            found.setdefault(core, processor)
        return list(found.values())

    def setUp(self):
        if len(self.cores()) < 2:
            self.skipTest("one core only")

    def test_ranks_start_on_cores_of_their_own_and_may_run_anywhere(self):
        told = self.places(2)
        allowed = self.places(1)[0][-1]
        self.assertEqual([each[1] for each in told], [allowed] * 2)
        self.assertEqual(len({each[0] for each in told}), 2)
        self.assertLessEqual({int(each[0]) for each in told}, os.sched_getaffinity(0))

    def test_only_processors_that_the_launcher_may_use_are_taken(self):
        two = self.cores()[-2:]
        told = self.places(2, processors=two)
        self.assertEqual(sorted(int(each[0]) for each in told), sorted(two))

    def test_with_more_ranks_than_cores_and_with_a_binding_nothing_is_chosen(self):
        one = self.cores()[:1]
        self.assertEqual([len(each) for each in self.places(2, processors=one)], [1, 1])
        self.assertEqual([len(each) for each in self.places(2, "--bind", "core")], [1, 1])

    def test_ranks_with_a_processor_of_their_own_have_sessions_of_their_own(self):
        # The kernel divides busy processors between sessions; sched_yield() works within one.
        def sessions(ranks, *options, processors):
            result = subprocess.run([WEFT, "run", "-n", str(ranks), *options, "--", sys.executable, "-c",
                                     "import os; print(os.getsid(0) == os.getpid(), os.getpgid(0) == os.getpid(), os.getsid(0))"],
                                    stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=HANG_GUARD, env=environment(),
                                    preexec_fn=lambda: os.sched_setaffinity(0, processors))
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            return [line.split() for line in result.stdout.splitlines()]

        two = self.cores()[:2]
        for options in ((), ("--bind", "core")):
            told = sessions(2, *options, processors=two)
            self.assertEqual([each[:2] for each in told], [["True", "True"]] * 2, options)
        told = sessions(2, processors=two[:1])
        self.assertEqual([each[:2] for each in told], [["False", "True"]] * 2)
        self.assertEqual(len({each[2] for each in told}), 1)

    def test_several_jobs_take_different_cores_while_there_are_some(self):
        cores = self.cores()
        if len(cores) < 4:
            self.skipTest("fewer than four cores")
        busy = [subprocess.Popen(["sh", "-c", "while :; do :; done"], preexec_fn=lambda core=core: os.sched_setaffinity(0, [core]))
                for core in cores[:2]]
        try:
            told = self.places(2, processors=cores[:4])
        finally:
            for process in busy:
                process.kill()
                process.wait()
        self.assertEqual(sorted(int(each[0]) for each in told), sorted(cores[2:4]))


if __name__ == "__main__":
    unittest.main()
