"""Every planted fault is caught by the tests that should catch it. Only with WEFTDEV_NIGHTLY=1: the tree is built once more for it."""

import os
import subprocess
import sys
import unittest
from pathlib import Path


@unittest.skipUnless(os.environ.get("WEFTDEV_NIGHTLY") == "1", "a build with all faults is made with WEFTDEV_NIGHTLY=1")
class PlantedFaults(unittest.TestCase):
    def test_are_caught_each(self):
        root = Path(os.environ["WEFTDEV_SOURCE_DIR"])
        result = subprocess.run([sys.executable, "-B", str(root / "tests" / "mutation" / "mutate.py")], check=False)
        self.assertEqual(result.returncode, 0)


if __name__ == "__main__":
    unittest.main()
