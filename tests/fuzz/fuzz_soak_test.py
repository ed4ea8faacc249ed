"""Every decoder, ten minutes of libFuzzer each (`./dev fuzz`); nightly, and only where clang's fuzzer is."""

import os
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(os.environ["WEFTDEV_SOURCE_DIR"])


class Soak(unittest.TestCase):
    def test_no_decoder_breaks_in_ten_minutes(self):
        if os.environ.get("WEFTDEV_NIGHTLY") != "1":
            self.skipTest("runs with WEFTDEV_NIGHTLY=1")
        seconds = os.environ.get("WEFTDEV_FUZZ_SECONDS", "600")
        result = subprocess.run([str(ROOT / "dev"), "fuzz", "--seconds", seconds], stdin=subprocess.DEVNULL, stdout=sys.stderr, check=False)
        self.assertEqual(result.returncode, 0)


if __name__ == "__main__":
    unittest.main()
