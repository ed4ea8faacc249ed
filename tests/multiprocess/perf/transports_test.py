"""Workloads that run over any library: over weft, the bare memory, and what other libraries are installed."""

import json
import os
import tempfile
import unittest

from perf import ENOUGH_FOR_BARS, SHORT, have_a_pass_in_common, perf

WINDOWS = ("matched", "outstanding-100", "outstanding-1000", "bandwidth-64k", "bandwidth-1m", "reused-64k", "reused-1m")
THREADS = ("threads-2", "threads-4", "shared-2", "shared-4")
PAIRS = ("pairs-1", "pairs-2", "pairs-4", "pairs-shared-2", "pairs-shared-4")
STREAMS = ("unexpected", "matched-unacknowledged")
ACCESSES = ("put-rate", "get-rate", "put-bandwidth", "get-bandwidth", "add-rate", "fetch-add-rate")


def figures(*arguments):
    result = perf(*arguments, "--json", "-")
    if (result.returncode, result.stderr) != (0, ""):
        raise AssertionError(result.stderr)
    return json.loads(result.stdout)


# Further ways of weft; those that a host lacks are named and left out.
WEFT_VARIANTS = ("weft-copy", "weft-sim", "weft-ofi-tcp", "weft-tcp", "sockets")


class TransportsTest(unittest.TestCase):
    def check_contents(self, names):
        result = perf("--verify", "--only", names, "--seconds", "0.01")
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        lines = [line for line in result.stdout.splitlines() if "is left out" not in line]
        for line in lines:
            self.assertTrue(line.endswith("messages, 0 lost, 0 duplicated, 0 torn"), line)
            self.assertGreater(int(line.split(" messages,")[0].split()[-1]), 0)
        return [line.split()[0] for line in lines]

    def test_contents_are_right_over_the_other_ways_of_weft(self):
        verified = self.check_contents(",".join(f"{workload}/{over}" for over in WEFT_VARIANTS
                                                for workload in ("outstanding-100", "bandwidth-1m")))
        self.assertIn("bandwidth-1m/weft-copy", verified)
        self.assertIn("outstanding-100/weft-sim", verified)

    def test_all_leaves_out_what_only_its_name_selects(self):
        named = [each["name"] for each in figures(*SHORT, "--only", "outstanding-100", "--compare", "weft-copy")["measurements"]]
        self.assertEqual(named, ["outstanding-100/weft-copy"])
        result = perf(*SHORT, "--only", "all", "--compare", "weft-copy")
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn("--compare weft-copy", result.stderr)

    def test_every_workload_tells_a_figure_of_weft(self):
        root = figures(*SHORT, "--only", ",".join(f"{each}/weft" for each in (*WINDOWS, *ACCESSES, *STREAMS, "matched-latency", "matching")))
        self.assertEqual(len(root["measurements"]), len(WINDOWS) + len(ACCESSES) + len(STREAMS) + 2)
        for each in root["measurements"]:
            self.assertGreater(each["figure"]["median"], 0)
            low, high = each["figure"]["interval"]
            self.assertTrue(each["figure"]["min"] <= low <= high <= each["figure"]["max"])

    def test_workloads_of_several_threads_tell_the_rate_of_each(self):
        names = [f"{each}/{over}" for each in THREADS for over in ("weft", "weft-am")] + ["threads-2/weft-am-serial", "threads-4/weft-am-serial"]
        root = figures(*SHORT, "--only", ",".join(names))
        self.assertEqual(len(root["measurements"]), len(names))
        for each in root["measurements"]:
            threads = int(each["name"].split("/")[0].split("-")[1])
            for one in each["rounds"]:
                self.assertEqual(len(one["threads"]), threads)
                self.assertAlmostEqual(sum(one["threads"]), one["value"], delta=1)

    def test_pairs_tell_percentiles_and_the_rate_of_each(self):
        for each in figures(*SHORT, "--only", ",".join(f"{each}/{over}" for each in PAIRS for over in ("weft", "weft-am")))["measurements"]:
            threads = int(each["name"].split("/")[0].rsplit("-", 1)[1])
            for one in each["rounds"]:
                times = one["percentiles"]
                self.assertTrue(0 < times["50"] <= times["99"] <= times["99.9"])
                if threads > 1:
                    self.assertEqual(len(one["threads"]), threads)

    def test_workloads_of_several_ranks_tell_a_figure_for_each_number_of_them(self):
        names = ",".join(f"{work}/{over}" for work in ("many-to-one", "all-to-all") for over in ("weft", "weft-am"))
        root = figures("--rounds", "1", "--seconds", "0.01", "--only", names, "--ranks", "2,5")
        self.assertEqual(sorted((each["name"], each["ranks"]) for each in root["measurements"]),
                         sorted((name, ranks) for name in names.split(",") for ranks in (2, 5)))
        for each in root["measurements"]:
            self.assertGreater(each["figure"]["median"], 0)

    def test_threads_are_judged_by_one_thread(self):
        bars = figures(*ENOUGH_FOR_BARS, "--only", "rate-threads-1/weft-am,rate-threads-2/weft-am")["bars"]
        self.assertEqual([(each["measurement"], each["base"]) for each in bars], [("rate-threads-2/weft-am", "rate-threads-1/weft-am")])

    def test_pairs_are_judged_by_their_tail_and_by_the_slowest(self):
        bars = figures(*ENOUGH_FOR_BARS, "--only", "pairs-2/weft-am")["bars"]
        self.assertEqual([(each["measurement"], each["figure"], each["base"]) for each in bars], [("pairs-2/weft-am", "share", None)])
        self.assertIn("pairs-2/weft-am, share", perf(*ENOUGH_FOR_BARS, "--only", "pairs-2/weft-am").stdout)

    def test_matching_tells_what_posting_took(self):
        for each in figures(*SHORT, "--only", "matching/weft-serial")["measurements"]:
            for one in each["rounds"]:
                self.assertGreater(one["posting_ns"], 0)
                self.assertGreater(one["shortest_ns"], 0)

    def test_a_bar_is_judged_where_both_sides_were_measured(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "rounds.json")
            table = perf(*ENOUGH_FOR_BARS, "--only", "put-rate", "--compare", "bare-memory,weft-serial", "--json", path).stdout
            with open(path, encoding="utf-8") as file:
                root = json.load(file)
        self.assertEqual([each["name"] for each in root["measurements"]], ["put-rate/bare-memory", "put-rate/weft-serial"])
        self.assertEqual([(bar["measurement"], bar["base"]) for bar in root["bars"]], [("put-rate/weft-serial", "put-rate/bare-memory")])
        self.assertIn("put-rate/weft-serial to bare-memory", table)
        for bar in root["bars"]:
            self.assertIn(bar["verdict"], ("met, and the aim", "met", "undecided", "missed", "not judged"))
            self.assertEqual(bar["reason"] is not None, bar["verdict"] == "not judged")
            # Where the machine never stayed as it was for both of them there is no ratio to judge.
            if not have_a_pass_in_common(*root["measurements"]):
                self.assertEqual(bar["verdict"], "not judged")

    def test_a_bar_about_the_best_of_all_is_not_judged_by_one(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "rounds.json")
            result = perf("--rounds", "2", "--seconds", "0.01", "--only", "matched/weft,matched/openmpi,matched/mpich", "--json", path)
            self.assertEqual(result.returncode, 0, result.stderr)
            with open(path, encoding="utf-8") as file:
                root = json.load(file)
        if len(root["measurements"]) == 1:
            self.skipTest("no MPI library is installed")
        bar, = root["bars"]
        self.assertEqual(bar["verdict"], "not judged")
        self.assertRegex(bar["reason"], r"^UCX.* not measured$")
        self.assertIn(f"not judged: {bar['reason']}", result.stdout)


if __name__ == "__main__":
    unittest.main()
