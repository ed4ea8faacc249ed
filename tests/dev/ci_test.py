"""What continuous integration says of its parts: which failed, which has never begun, and which cannot be run."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(os.environ["WEFTDEV_SOURCE_DIR"])
OTHERS = ("tsan", "aarch64", "rdma", "clang-16", "clang-19", "asan-c", "asan")


class Ci(unittest.TestCase):
    def ci(self, dev="", apt="echo '  Candidate: 1.0'", minutes=30):
        """`.ci/run` with scripts in place of `./dev` and of apt-cache, whose first argument is $1: its exit code, and its last lines."""
        with tempfile.TemporaryDirectory() as directory:
            root = Path(directory)
            (root / ".ci").mkdir()
            (root / "tools").mkdir()
            shutil.copy(ROOT / ".ci" / "run", root / ".ci" / "run")
            for path, text in ((root / "dev", dev), (root / "tools" / "apt-cache", apt)):
                path.write_text(f"#!/bin/bash\n{text}\n")
                path.chmod(0o755)
            environment = {**os.environ, "PATH": f"{root / 'tools'}:{os.environ['PATH']}", "WEFTDEV_CI_MINUTES": str(minutes), "WEFTDEV_CI_TURN": "0"}
            result = subprocess.run([root / ".ci" / "run"], capture_output=True, text=True, check=False, timeout=60, env=environment)
        return result.returncode, result.stdout

    def test_passes_when_all_parts_do_and_tells_each(self):
        code, output = self.ci()
        self.assertEqual(code, 0, output)
        for name in ("docs", "release", *OTHERS):
            self.assertRegex(output, rf"(?m)^ci: {name}: passed ")
        self.assertNotIn("incomplete:", output)

    def test_is_incomplete_when_there_is_no_time(self):
        code, output = self.ci(minutes=0)
        self.assertEqual(code, 0, output)
        self.assertRegex(output, r"(?m)^ci: release: passed ")
        self.assertIn(f"incomplete: {' '.join(OTHERS)} did not come to an end", output.splitlines()[-1])

    def test_names_the_package_for_want_of_which_a_part_cannot_run(self):
        code, output = self.ci(apt='[[ $2 == qemu-system-x86 ]] || echo "  Candidate: 1.0"')
        self.assertEqual(code, 0, output)
        self.assertIn("ci: rdma: NOT RUN, apt has no package qemu-system-x86", output)
        self.assertTrue(output.splitlines()[-1].startswith("incomplete: rdma did not"), output)

    def test_fails_with_what_a_virtual_machine_has_said(self):
        code, output = self.ci(dev='[[ $* != "test --rdma" ]] || { echo "check: FAILED with 1 after 3 s: a ring"; echo why; exit 1; }')
        self.assertEqual(code, 1, output)
        self.assertRegex(output, r"(?m)^ci: rdma: FAILED ")
        self.assertEqual(output.count("check: FAILED with 1 after 3 s: a ring\nwhy\n"), 2, "as it came, and again at the end")


if __name__ == "__main__":
    unittest.main()
