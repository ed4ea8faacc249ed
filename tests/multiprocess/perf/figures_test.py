"""What `weft perf` prints: that figures are there and belong together, never how large they are."""

import json
import os
import unittest

from weft_job import busy_processors
from perf import BROKEN_UCX, FAKE_UCX, SHORT, have_a_pass_in_common, perf, perf_with_ucx, perf_without_ucx

TRANSPORTS = {"serial-handler", "serial-queue", "single-consumer-queue", "queue", "default-handler"}
PROCESSORS = len(os.sched_getaffinity(0))


def measurements(result):
    return {each["name"]: each for each in json.loads(result.stdout)["measurements"]}


class FiguresTest(unittest.TestCase):
    def test_json_has_every_measurement_with_its_rounds_and_ratios(self):
        result = perf_without_ucx(*SHORT, "--json", "-")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        found = measurements(result)
        expected = {"rate/bare-ring-buffer", "latency/bare-cache-line"} | {f"{work}/{each}" for work in ("rate", "latency") for each in TRANSPORTS}
        self.assertEqual(set(found) - {"solo/threads", "rate/ucp", "latency/ucp"}, expected)
        for name, each in found.items():
            with self.subTest(name):
                figure = each["figure"]
                self.assertTrue(0 < figure["min"] <= figure["median"] <= figure["max"])
                self.assertGreaterEqual(len(each["rounds"]), 2)
                self.assertEqual(each["left_out"], 0 if each["disturbed"] else sum(not r["kept"] for r in each["rounds"]))
                for one in each["rounds"]:
                    self.assertGreater(one["before_ns"], 0)
                    self.assertGreater(one["after_ns"], 0)
        self.assertIsNone(found["rate/bare-ring-buffer"]["ratio_to_bare_limit"])
        for name, each in found.items():
            with self.subTest(name):
                self.assertTrue(each.get("best_peer") or each.get("ratio_to_best_peer") is None)

    @unittest.skipIf(PROCESSORS < 2, "needs two processors")
    def test_solo_tells_a_ratio_of_each_thread(self):
        solo = measurements(perf_without_ucx(*SHORT, "--only", "solo", "--json", "-"))["solo/threads"]
        self.assertEqual(len(solo["threads"]), 2)
        for thread in solo["threads"]:
            self.assertGreater(thread["median"], 0)
        for one in solo["rounds"]:
            self.assertEqual((len(one["alone"]), len(one["together"])), (2, 2))

    def test_every_report_says_in_which_state_the_machine_was(self):
        result = perf_without_ucx(*SHORT, "--only", "rate/serial-handler", "--json", "-")
        root = json.loads(result.stdout)
        self.assertEqual(root["state"], {key: root["states"][0][key] for key in ("cores", "low_ns", "high_ns")})
        for state in root["states"]:
            self.assertIn(state["cores"], ("near", "far"))
            self.assertLessEqual(state["low_ns"], state["high_ns"])
        series, = root["measurements"]
        self.assertEqual(len(series["figure_by_state"]), len(root["states"]))
        for index, state in enumerate(root["states"]):
            rounds = [each for each in series["rounds"] if each["state"] == index]
            self.assertEqual(len(rounds), state["rounds"])
            self.assertEqual(series["figure_by_state"][index] is None, not rounds)
        table = perf_without_ucx(*SHORT, "--only", "rate/serial-handler").stdout
        self.assertRegex(table, r"Cores were (near|far from) each other \(a cache line took \d+ to \d+ ns from one to the other\)")

    def test_brief_is_four_lines_and_one_more_where_other_programs_ran(self):
        result = perf("--brief", *SHORT)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        beginnings = [line.split()[0] for line in result.stdout.splitlines()]
        self.assertEqual(beginnings[:4], ["message", "latency", "bare", "machine"])
        self.assertIn(beginnings[4:], ([], ["other"]))

    def test_every_report_says_when_other_programs_ran(self):
        with busy_processors():
            said = r"other programs ran, which took \d+ % of the processors and cores of \d+ of \d+ rounds"
            self.assertRegex(perf("--brief", *SHORT).stdout.splitlines()[-1], f"^ +{said}: not comparable$")
            self.assertRegex(perf(*SHORT, "--only", "rate/serial-handler").stdout, f"{said}: these figures are not comparable")
            root = json.loads(perf(*SHORT, "--only", "rate/serial-handler", "--json", "-").stdout)
        self.assertFalse(root["comparable"])

    def test_the_payload_of_rates_may_have_any_size(self):
        for size in ("1", "48", "49", "4K", "100K"):
            with self.subTest(size):
                result = perf_without_ucx(*SHORT, "--size", size, "--only", "rate/serial-handler,bare-ring-buffer", "--json", "-")
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                self.assertGreater(measurements(result)["rate/serial-handler"]["figure"]["median"], 0)
                ring_fits = int(size) <= 56 if size.isdigit() else False
                self.assertEqual("rate/bare-ring-buffer" in measurements(result), ring_fits)

    def test_a_missing_ucx_is_remarked(self):
        result = perf_without_ucx(*SHORT, "--only", "ucx,bare-ring-buffer")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("UCX is left out: ucx_perftest is not installed (Debian package ucx-utils)\n", result.stdout)

    def test_figures_of_ucx_are_those_of_its_last_line(self):
        result = perf_with_ucx(FAKE_UCX, *SHORT, "--only", "ucx,serial-handler", "--json", "-")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        found = measurements(result)
        self.assertEqual(found["rate/ucx"]["figure"]["median"], 18e6)
        self.assertEqual(found["rate/serial-handler"]["best_peer"], "rate/ucx")
        ratio = found["rate/serial-handler"]["ratio_to_best_peer"]
        if have_a_pass_in_common(found["rate/serial-handler"], found["rate/ucx"]):
            self.assertGreater(ratio["median"], 0)
        else:
            self.assertIsNone(ratio)
        self.assertAlmostEqual(found["latency/ucx"]["figure"]["median"], 50)
        self.assertIn("shared memory", json.loads(result.stdout)["remarks"][0])

    def test_a_ucx_that_fails_is_remarked_and_the_rest_measured(self):
        result = perf_with_ucx(BROKEN_UCX, *SHORT, "--only", "ucx,bare-ring-buffer")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("UCX is left out: ucx_perftest: no transport today (exited with code 3)\n", result.stdout)
        self.assertIn("bare-ring-buffer", result.stdout)


if __name__ == "__main__":
    unittest.main()
