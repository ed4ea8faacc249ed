"""`weft study`: counts that are exact for any number of ranks and workers, on every parcelport, and its reports."""

import csv
import json
import os
import shutil
import subprocess
import tempfile
import unittest

from weft_job import HANG_GUARD, WEFT, busy_processors, environment, shared_memory

PORTS = ["weft", "weft:putsendrecv:queued", "weft:sendrecv:synchronizer", "tcp"]
PORTS += ["mpich:immediate"] if shutil.which("mpiexec.mpich") else []

# Its ranks wait without giving their processor away: more of them than processors end when nothing else runs, or much later.
OPENMPI = ["openmpi:original"] if shutil.which("mpiexec.openmpi") else []


def ports(ranks):
    return PORTS + (OPENMPI if ranks <= 2 else [])


class StudyTest(unittest.TestCase):
    def setUp(self):
        self.segments = shared_memory()

    def tearDown(self):
        self.assertEqual(shared_memory(), self.segments)

    def study(self, *arguments):
        return subprocess.run([WEFT, "study", *arguments], capture_output=True, text=True, timeout=HANG_GUARD * 2, env=environment(),
                              check=False)

    def points(self, *arguments):
        result = self.study(*arguments, "--rounds", "1", "--json", "-")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return json.loads(result.stdout)["points"]

    def test_trees_are_counted_exactly(self):
        # The ranks compare what they have counted with the known figures, and fail.
        for ranks, workers in ((1, 1), (1, 4), (2, 1), (3, 2), (5, 1), (8, 1)):
            for tree in ("T1", "T3") if ranks <= 2 else ("small",):
                with self.subTest(ranks=ranks, workers=workers, tree=tree):
                    points = self.points("uts", "--tree", tree, "--ranks", str(ranks), "--workers", str(workers), "--variants",
                                         ",".join(ports(ranks)))
                    self.assertEqual(len(points), len(ports(ranks)))
                    known = {"T1": (4130071, 3305118, 10), "T3": (4112897, 3599034, 1572), "small": (16000, 12839, 6)}[tree]
                    for point in points:
                        figures = point["rounds"][0]
                        self.assertEqual((figures["nodes"], figures["leaves"], figures["depth"]), known)

    def test_chains_make_all_their_steps(self):
        for ranks, workers, more in ((1, 2, ()), (2, 1, ("--sweep",)), (3, 4, ("--sweep", "--single-source")), (8, 1, ("--sweep",))):
            for size in (16, 20000):
                with self.subTest(ranks=ranks, workers=workers, size=size):
                    points = self.points("chains", "--chains", "11", "--steps", "37", "--bytes", str(size), "--grain", "1us", "--ranks",
                                         str(ranks), "--workers", str(workers), "--variants", ",".join(ports(ranks)), *more)
                    self.assertEqual(len(points), len(ports(ranks)))
                    for point in points:
                        self.assertGreater(point["rounds"][0]["latency_us_p50"], 0)

    def test_graphs_have_all_their_inputs(self):
        points = self.points("taskbench", "--quick", "--ranks", "3", "--workers", "2", "--width", "9", "--kernel", "imbalance",
                             "--variants", "weft,tcp")
        self.assertEqual(len(points), 2 * 8)
        for point in points:
            self.assertGreater(len(point["rounds"][0]["curve"]), 0)
        for point in self.points("taskbench", "--quick", "--kernel", "empty", "--pattern", "fft,tree", "--variants", "weft,tcp"):
            self.assertEqual(point["figure"], "tasks_per_s")
            self.assertNotIn("curve", point["rounds"][0])

    def test_a_report_of_trees_has_a_bar_for_each_variant(self):
        with tempfile.TemporaryDirectory() as folder:
            result = self.study("uts", "--tree", "small", "--rounds", "1", "--variants", "weft,tcp", "--report", folder)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            with open(os.path.join(folder, "uts.html"), encoding="utf-8") as page:
                text = page.read()
            self.assertEqual(text.count("<section>"), 1)
            self.assertIn("<tr><th>tree<th>weft<th>tcp</tr>", text)

    def test_a_report_has_a_page_a_table_and_all_rounds(self):
        with tempfile.TemporaryDirectory() as folder:
            result = self.study("parcels", "--quick", "--variants", "weft,weft:immediate,weft:queued", "--report", folder)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertIn("Message rate against injection rate, 8 bytes", result.stdout)
            self.assertEqual(sorted(os.listdir(folder)), ["parcels.csv", "parcels.html", "parcels.json"])
            with open(os.path.join(folder, "parcels.html"), encoding="utf-8") as page:
                text = page.read()
            self.assertEqual(text.count("<section>"), 7)
            # Nothing is judged by what other programs have disturbed.
            self.assertRegex(text, "adaptive makes|nothing is judged by them")
            self.assertIn("<code>weft study parcels --quick --variants weft,weft:immediate,weft:queued --report ", text)
            self.assertIn(os.uname().release, text)
            with open(os.path.join(folder, "parcels.csv"), encoding="utf-8", newline="") as table:
                rows = list(csv.DictReader(table))
            self.assertEqual({row["experiment"] for row in rows},
                             {"rate-8", "rate-512", "rate-16K", "rate-16K-array", "latency-size", "latency-window-8", "latency-window-16K"})
            with open(os.path.join(folder, "parcels.json"), encoding="utf-8") as file:
                self.assertEqual(len(json.load(file)["points"]), len(rows))

    def test_nothing_is_judged_when_other_programs_ran(self):
        with busy_processors():
            result = self.study("uts", "--tree", "small", "--rounds", "1", "--variants", "weft,tcp")
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertIn("* other programs ran beside 2 of 2 jobs: the figures are not comparable, and nothing is judged by them\n",
                          result.stdout)
            self.assertNotIn("at its best", result.stdout)
            result = self.study("matching", "--mode", "live", "--engines", "list", "--decompositions", "9pt:8x8", "--runs", "3")
            self.assertRegex(result.stdout, r"other programs ran, which took \d+ % of the processors: drain times are not comparable")
            self.assertNotIn("the budget of 1 ms", result.stdout)

    def test_bad_input_is_one_line(self):
        for arguments, text in (
                (("uts", "--tree", "T9"), "weft study: there is no tree 'T9'; there are T1, T3, T1L, T3L, small"),
                (("uts", "--variants", "two-copy-ring"), "weft study: the variant two-copy-ring is for the study parcels"),
                (("parcels", "--variants", "openmp"), "weft study: "),
                (("parcels", "--experiment", "rate"),
                 "weft study: --experiment rate is not valid: the study parcels has rate-8, rate-512, rate-16K, rate-16K-array, latency-size"),
                (("chains", "--experiment", "rate-8"), "weft study: --experiment rate-8 is not valid: the study chains has bandwidth-size"),
                (("taskbench", "--pattern", "ring"), "weft study: there is no pattern 'ring'; there are trivial, stencil_1d, fft"),
                (("chains", "--variants", "weft:fast"), "weft study: variant 'weft:fast': there is no 'fast'; there are onepost, putsendrecv"),
                (("chains", "--variants", "ucx"), "weft study: variant 'ucx': 'ucx' is no parcelport; there are weft, tcp, mpi"),
                (("chains", "--chains", "0"), "weft study: --chains 0 is not valid: it must be an integer from 1 to 1000000"),
                (("chains", "--chains", "1,2", "--bytes", "8,16"),
                 "weft study: only one of --chains, --bytes and --grain can be a list"),
                (("parcels", "--ranks", "3"), "weft study: the study parcels is of 2 ranks, --ranks says 3"),
                (("chains", "--variants", "tcp:original"), "weft study: variant 'tcp:original': there is no 'original'; there are onepost, adaptive"),
                (("chains", "--report", "/dev/null/x", "--quick"), "weft study: --report /dev/null/x: Not a directory"),
                ((), "weft study: a command is missing: parcels, chains, devices, uts, taskbench"),
                (("devices", "--ranks", "3"), "weft study: the study devices is of 2 ranks, --ranks says 3")):
            with self.subTest(arguments=arguments):
                result = self.study(*arguments)
                self.assertIn(result.returncode, (1, 2))
                self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
                self.assertTrue(result.stderr.startswith(text), result.stderr)


if __name__ == "__main__":
    unittest.main()
