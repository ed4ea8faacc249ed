"""`weft study matching`: live ranks on every engine, recorded matchings of programs, reports, and what is refused."""

import csv
import json
import os
import shutil
import subprocess
import tempfile
import unittest

from weft_job import HANG_GUARD, WEFT, environment, run, shared_memory

ENGINES = ["list", "rank-lists", "bins", "fuzzy", "hash", "ordered"]
BIN = os.environ["WEFTDEV_BIN_DIR"]


class MatchingStudyTest(unittest.TestCase):
    def setUp(self):
        self.segments = shared_memory()

    def tearDown(self):
        self.assertEqual(shared_memory(), self.segments)

    def study(self, *arguments):
        return subprocess.run([WEFT, "study", "matching", *arguments], capture_output=True, text=True, timeout=HANG_GUARD * 2,
                              env=environment(), check=False)

    def rows(self, *arguments):
        result = self.study(*arguments, "--json", "-")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return json.loads(result.stdout)["rows"]

    def test_live_messages_find_their_receives_on_every_engine(self):
        # The ranks compare what each receive has got, and fail.
        for mode in ("live", "unexpected"):
            for senders in (1, 3):
                with self.subTest(mode=mode, senders=senders):
                    rows = self.rows("--mode", mode, "--senders", str(senders), "--runs", "2", "--decompositions",
                                     "naive:5,9pt:6x5,27pt:3x2x2")
                    self.assertEqual([row["engine"] for row in rows], [engine for engine in ENGINES for _ in range(3)])
                    for row in rows:
                        self.assertGreater(row["drain_us"]["median"], 0)
                        if row["engine"] in ("hash", "ordered"):
                            self.assertLessEqual(row["depth"], 1.1)
                        self.assertLessEqual(row["longest_list"], row["messages"])
                    self.assertEqual([row["messages"] for row in rows[:3]], [5, 62, 212])

    def test_a_list_is_searched_as_deep_as_messages_are_out_of_order(self):
        rows = self.rows("--mode", "live,replay", "--orders", "in-order,reversed", "--engines", "list", "--decompositions", "27pt:4x4x4",
                         "--runs", "3")
        depth = {row.get("order", "live"): row["depth"] for row in rows}
        self.assertEqual((depth["in-order"], depth["reversed"]), (1, 364.5))
        self.assertGreaterEqual(depth["live"], 1)  # how much its senders' messages mix is up to the machine
        self.assertTrue(all(row.get("keeps_bound", True) for row in rows))

    def test_mpi_drains_the_same_exchanges(self):
        installed = [name for name in ("mpich", "openmpi") if shutil.which("mpiexec." + name)]
        if not installed:
            self.skipTest("neither MPICH nor Open MPI is installed")
        rows = self.rows("--mode", "mpi", "--runs", "2", "--decompositions", "5pt:4x4")
        self.assertEqual(len(rows), 2 * len(installed))
        for row in rows:
            self.assertGreater(row["drain_us"]["median"], 0)

    def test_matchings_of_programs_are_recorded_and_replayed(self):
        with tempfile.TemporaryDirectory() as folder:
            result = run(3, os.path.join(BIN, "example-standing_receives"), env=environment(WEFT_MATCHING_TRACE=folder))
            self.assertEqual(result.returncode, 0, result.stderr)
            files = sorted(os.listdir(folder))
            self.assertEqual(files, [f"weft-matching-{rank}.trace" for rank in range(3)])
            rows = self.rows("--trace", os.path.join(folder, files[1]), "--runs", "2")
            self.assertEqual([row["engine"] for row in rows], ENGINES)
            self.assertGreater(rows[0]["messages"], 0)
            self.assertEqual({row["messages"] for row in rows}, {rows[0]["messages"]})

    def test_reports(self):
        with tempfile.TemporaryDirectory() as folder:
            result = self.study("--mode", "replay,live,resources,soak", "--decompositions", "7pt:1x1x256,9pt:3x3", "--runs", "1",
                                "--engines", "list,ordered", "--threads", "1,2", "--messages", "10000", "--report", folder)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertIn("the paper prints 576 messages; its geometry has 1026", result.stdout)
            self.assertIn("soak: ordered: 10000 messages", result.stdout)
            self.assertEqual(sorted(os.listdir(folder)), ["matching.csv", "matching.html", "matching.json"])
            with open(os.path.join(folder, "matching.json"), encoding="utf-8") as file:
                resources = json.load(file)["resources"]
            self.assertEqual({row["resource"] for row in resources if "of_other_threads_per_thousand" in row}, {"packet pool"})
            self.assertEqual({row["threads"] for row in resources}, {1, 2})
            with open(os.path.join(folder, "matching.csv"), encoding="utf-8") as file:
                lines = list(csv.DictReader(file))
            self.assertEqual(len(lines), 4 * 2 * 2 + 2 * 2)
            reverse = [line for line in lines if line["order"] == "reversed" and line["engine"] == "list"]
            self.assertEqual([float(line["depth"]) for line in reverse], [(1026 + 1) / 2, (32 + 1) / 2])
            with open(os.path.join(folder, "matching.html"), encoding="utf-8") as file:
                page = file.read()
            for text in ("the budget of 1 ms", "list, by theory", "packet pool", "completion queue", "<code>weft study matching ",
                         os.uname().release):
                self.assertIn(text, page)

    def test_threads_without_neighbours_have_as_many_messages_as_asked_for(self):
        rows = self.rows("--mode", "live,replay", "--orders", "in-order", "--engines", "list,ordered", "--decompositions", "naive:3:26",
                         "--runs", "2")
        self.assertEqual({row["messages"] for row in rows}, {78})
        self.assertEqual([row["depth"] for row in rows if row["engine"] == "list" and row["mode"] == "replay"], [1])

    def test_sweeps_are_drawn_against_threads(self):
        with tempfile.TemporaryDirectory() as folder:
            result = self.study("--mode", "replay", "--orders", "random", "--sweep", "naive:8,27pt,27pt-line", "--up-to", "16", "--runs", "2",
                                "--engines", "list,ordered", "--report", folder)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            with open(os.path.join(folder, "matching.csv"), encoding="utf-8", newline="") as file:
                lines = list(csv.DictReader(file))
            for family in ("naive:8", "27pt", "27pt-line"):
                self.assertEqual([int(line["threads"]) for line in lines if line["sweep"] == family and line["engine"] == "list"],
                                 [2, 4, 8, 16])
            with open(os.path.join(folder, "matching.html"), encoding="utf-8") as file:
                page = file.read()
            for family in ("naive:8", "27pt", "27pt-line"):
                self.assertIn(f"in random order, {family} against threads: search depth", page)

    def test_what_the_paper_prints_stands_beside_it(self):
        result = self.study("--mode", "live", "--engines", "ordered", "--decompositions", "7pt:4x4x4,naive:4", "--runs", "1")
        self.assertRegex(result.stdout, r"printed by the paper\n *7pt:4x4x4 .* 25.1\n *naive:4 .* -\n")
        row = self.rows("--mode", "live", "--engines", "ordered", "--decompositions", "7pt:4x4x4", "--runs", "1")[0]
        self.assertEqual((row["paper_depth"], row["paper_ms"], row["threads"]), (25.1, 0.04102, 64))

    def test_algorithms_of_libraries_are_measured_as_the_others(self):
        library = os.path.join(BIN, "..", "lib", "algorithms", "sorted_matching.so")
        rows = self.rows("--algorithm", library, "--mode", "replay,live,unexpected", "--orders", "reversed,random", "--decompositions",
                         "27pt:3x2x2", "--runs", "2", "--senders", "2")
        self.assertEqual({row["engine"] for row in rows}, {"sorted_matching"})
        self.assertEqual([row["mode"] for row in rows], ["replay", "replay", "live", "unexpected"])
        for row in rows:
            self.assertLessEqual(row["depth"], 1)
            self.assertGreater(row["drain_us"]["median"], 0)
        rows = self.rows("--algorithm", library, "--engines", "list", "--mode", "replay", "--orders", "random", "--runs", "2",
                         "--decompositions", "9pt:4x4")
        self.assertEqual([row["engine"] for row in rows], ["list", "sorted_matching"])

    def test_libraries_without_an_algorithm_are_refused_with_the_reason(self):
        with tempfile.TemporaryDirectory() as folder:
            no_library = os.path.join(folder, "text.so")
            with open(no_library, "w", encoding="utf-8") as file:
                file.write("not a library")
            source = os.path.join(folder, "empty.c")
            without = os.path.join(folder, "empty.so")
            with open(source, "w", encoding="utf-8") as file:
                file.write("int nothing;")
            cases = [("/nowhere.so", "cannot be loaded: "), (no_library, "cannot be loaded: "), (folder, "cannot be loaded: ")]
            if shutil.which("cc"):
                subprocess.run(["cc", "-shared", "-fPIC", "-o", without, source], check=True)
                cases.append((without, "the library has no function weft_matching_algorithm_1: it must say WEFT_MATCHING_ALGORITHM(Type)"))
            for path, text in cases:
                with self.subTest(path=path):
                    result = self.study("--algorithm", path)
                    self.assertEqual((result.returncode, result.stdout), (2, ""))
                    self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
                    self.assertIn(f"--algorithm {path}", result.stderr)
                    self.assertIn(text, result.stderr)

    def test_bad_input_is_one_line(self):
        for arguments, text in (
                (("--engines", "lists"), "there is no matching engine 'lists'; there are list, rank-lists, bins, fuzzy, hash, ordered"),
                (("--mode", "alive"), "there is no mode 'alive'; there are replay, live, unexpected, mpi, trace, resources and soak"),
                (("--orders", "sorted"), "there is no order 'sorted'"),
                (("--mode", "trace"), "the mode trace needs --trace FILE"),
                (("--trace", "/nowhere"), "/nowhere: No such file or directory"),
                (("--decompositions", "5pt:0x4"), "5pt:0x4"),
                (("--decompositions", "6pt:4x4"), "6pt"),
                (("--sweep", "6pt"), "--sweep 6pt is not valid: it is naive, naive:M, 5pt, 9pt, 7pt, 27pt, 7pt-line or 27pt-line"),
                (("--up-to", "1"), "--up-to"),
                (("--threads", "-1"), "--threads"),
                (("--senders", "0"), "--senders"),
                (("--mode", "live", "--decompositions", "27pt:1x1x3000"), "27pt:1x1x3000: live modes take up to 65536 messages"),
                (("--report", "/dev/null/x"), "--report /dev/null/x: ")):
            with self.subTest(arguments=arguments):
                result = self.study(*arguments)
                self.assertNotEqual(result.returncode, 0)
                self.assertEqual(result.stdout, "")
                self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
                self.assertIn(text, result.stderr)


if __name__ == "__main__":
    unittest.main()
