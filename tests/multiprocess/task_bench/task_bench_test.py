"""Task Bench over weft::parcel: every task of every graph runs once, with the inputs that it depends on, which the core checks."""

import os
import re
import shutil
import subprocess
import unittest

from weft_job import HANG_GUARD, environment, program, run, shared_memory

# Built where CMake was given a checkout of Task Bench.
WITH_ITS_CORE = os.path.join(os.environ["WEFTDEV_BIN_DIR"], "weft-task-bench")
# Of our core in tests/support: all ways in which outputs travel.
TYPES = ["alone", "line", "ring", "growing", "moving", "far", "everywhere"]


def several(*graphs):
    return " -and ".join(graphs).split()


class TaskBenchTest(unittest.TestCase):
    def setUp(self):
        self.segments = shared_memory()

    def tearDown(self):
        self.assertEqual(shared_memory(), self.segments)

    def check(self, result, passes=2):
        """Each task has run once in each of the passes, the first of which is not measured."""
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        tasks = int(re.search(r"^tasks of the graphs: (\d+)$", result.stdout, re.M).group(1))
        self.assertGreater(tasks, 0)
        self.assertEqual(sum(map(int, re.findall(r"^tasks run here: (\d+)$", result.stdout, re.M))), passes * tasks)

    def test_all_graphs_run_on_any_number_of_ranks(self):
        graphs = [f"-type {each} -width 11 -steps 23 -output {size} -scratch 64" for each, size in zip(TYPES, (16, 16, 48, 4096, 20000, 16, 100000))]
        for ranks, options in ((1, "workers=1"), (2, "workers=1"), (3, "workers=2"), (5, "workers=3"), (2, "port=tcp"), (3, "port=tcp,workers=2"),
                               (2, "port=putsendrecv,aggregation=queued")):
            with self.subTest(ranks=ranks, options=options):
                self.check(run(ranks, program("task_bench"), *several(*graphs), "-parcel", options))
        for ranks in (2, 3):
            with self.subTest(ranks=ranks, network="tcp"):
                self.check(run(ranks, program("task_bench"), *several(*graphs), env=environment(WEFT_NETWORK="tcp")))

    @unittest.skipUnless(shutil.which("mpiexec.mpich"), "MPICH is not installed")
    def test_they_run_over_mpi(self):
        graphs = [f"-type {each} -width 7 -steps 9 -output 20000" for each in TYPES]
        self.check(subprocess.run(["mpiexec.mpich", "-n", "3", program("task_bench"), *several(*graphs), "-parcel", "port=mpi"], text=True,
                                  capture_output=True, timeout=HANG_GUARD, env=environment(), check=False))

    def test_ranks_without_a_point_and_graphs_of_one_task(self):
        for graph in ("-type ring -width 3 -steps 40", "-type growing -width 64 -steps 5", "-type moving -width 9 -steps 3",
                      "-type line -width 1 -steps 1"):
            with self.subTest(graph=graph):
                self.check(run(5, program("task_bench"), *graph.split(), "-parcel", "workers=1"))

    def test_inputs_that_come_many_steps_early_wait(self):
        # Without dependences among themselves some points are at their last step while others begin.
        self.check(run(2, program("task_bench"), *several("-type far -width 64 -steps 400", "-type everywhere -width 16 -steps 200"), "-parcel",
                       "workers=2"))

    def test_a_wrong_output_reaches_the_core_of_another_rank(self):
        # Point 3 of rank 0 is wrong, and point 4 of rank 1 looks at it: the outputs are those that the tasks have made.
        result = run(2, program("task_bench"), *"-type ring -width 8 -steps 3 -output 20000 -spoil 3".split(), "-parcel", "workers=1")
        self.assertNotEqual(result.returncode, 0)
        self.assertRegex(result.stderr, r"core: an input is wrong: step 2, point [234]: 3\n")

    def test_bad_options_are_one_line(self):
        for arguments, text in ((("-parcel",), "weft-task-bench: -parcel has no value: it must be options of the parcel runtime, as workers=2"),
                                (("-parcel", "workers=0x"), "weft-task-bench: parcel option workers is '0x'")):
            with self.subTest(arguments=arguments):
                result = subprocess.run([program("task_bench"), *arguments], capture_output=True, text=True, timeout=HANG_GUARD, env=environment(),
                                        check=False)
                self.assertEqual((result.returncode, len(result.stderr.splitlines())), (1, 1), result.stderr)
                self.assertIn(text, result.stderr)

    @unittest.skipUnless(os.path.exists(WITH_ITS_CORE), "no checkout of Task Bench was given (WEFT_TASK_BENCH_DIR)")
    def test_the_graphs_of_task_bench_itself(self):
        types = ["trivial", "no_comm", "stencil_1d", "stencil_1d_periodic", "dom", "tree", "fft", "all_to_all", "nearest", "spread", "random_nearest"]
        for ranks, network in ((1, "shm"), (2, "shm"), (3, "tcp"), (5, "shm")):
            for each in types:
                with self.subTest(type=each, ranks=ranks):
                    result = run(ranks, WITH_ITS_CORE, "-type", each, "-width", "12", "-steps", "50", "-output", "64", "-scratch", "64", "-radix", "5",
                                 *(("-period", "2") if each in ("spread", "random_nearest") else ()), env=environment(WEFT_NETWORK=network))
                    self.assertEqual(result.returncode, 0, result.stderr)
                    self.assertRegex(result.stdout, r"(?m)^Elapsed Time \S+ seconds$")


if __name__ == "__main__":
    unittest.main()
