"""`weft study`: what its pictures show, which of them there are by name, and what it compares with."""

import json
import os
import subprocess
import unittest

from weft_job import HANG_GUARD, WEFT, environment, shared_memory


class PicturesTest(unittest.TestCase):
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

    def test_chains_are_counted_for_each_rank(self):
        for ranks in (1, 3):
            for point in self.points("chains", "--chains", "5", "--steps", "4", "--ranks", str(ranks), "--variants", "weft"):
                self.assertEqual(point["parameters"]["chains"], 5 * ranks)

    def test_pictures_can_be_asked_for_by_name(self):
        points = self.points("chains", "--quick", "--steps", "2", "--iterations", "1", "--warm-ups", "0", "--experiment",
                             "latency-size,efficiency-grain", "--variants", "weft")
        self.assertEqual({point["experiment"] for point in points}, {"latency-size", "efficiency-grain"})
        self.assertEqual({point["parameters"]["chains"] for point in points}, {1024})
        for point in points:
            self.assertEqual(point["figure"], "latency_us" if point["experiment"] == "latency-size" else "efficiency")
            self.assertGreater(point["median"], 0)

    def test_rates_stand_over_the_rate_that_was_reached(self):
        points = self.points("parcels", "--quick", "--experiment", "rate-16K,rate-16K-array", "--variants", "weft,two-copy-ring")
        for point in points:
            figures = point["rounds"][0]
            if point["variant"] == "weft":
                self.assertEqual(point["x_reached"], figures["injected_per_s"])
                self.assertGreater(figures["messages_per_s"], 0)
            elif point["x"] == "no limit":
                self.assertGreater(point["median"], 0)
            else:
                self.assertNotIn("median", point)
                self.assertIn("copies arrays as fast as it can", figures["why"])
        self.assertEqual({point["parameters"]["array"] for point in points}, {True, False})

    def test_workers_spread_over_devices(self):
        points = self.points("devices", "--quick", "--experiment", "rate-8", "--variants", "weft,weft:2-devices,weft:sendrecv:4-devices")
        self.assertEqual({point["options"] for point in points},
                         {"port=weft", "port=weft,devices=2", "port=sendrecv,devices=4"})
        for point in points:
            self.assertGreater(point["median"], 0)

    def test_missing_figures_say_why(self):
        # Grains are too short for half of the time to be work, whatever the machine.
        result = self.study("taskbench", "--quick", "--rounds", "1", "--kernel", "empty", "--pattern", "fft", "--variants", "weft")
        self.assertNotIn("\n- ", result.stdout)
        result = self.study("parcels", "--quick", "--rounds", "1", "--experiment", "latency-size", "--variants", "weft,two-copy-ring")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("\n- two-copy-ring: copies arrays as fast as it can, and does nothing else\n", result.stdout)

    def test_openmp_counts_the_same_trees(self):
        if not os.path.exists(os.path.join(os.path.dirname(WEFT), "..", "lib", "weft-perf", "weft-study-openmp")):
            self.skipTest("the compiler has no OpenMP")
        for workers in (1, 3):
            for point in self.points("uts", "--tree", "T1,T3", "--workers", str(workers), "--variants", "openmp"):
                nodes = {"T1": 4130071, "T3": 4112897}[point["x"]]
                self.assertEqual(point["rounds"][0]["nodes"], nodes)
                self.assertGreater(point["median"], 0)


if __name__ == "__main__":
    unittest.main()
