"""Limits that batch systems set: what they are too low for is named, with the limit and what would need less."""

import subprocess
import unittest

from weft_job import HANG_GUARD, WEFT, environment, program

RANK = program("isolated_rank")


class Limits(unittest.TestCase):
    def job(self, limit, ranks=2, **attributes):
        script = f'ulimit {limit} && exec "$0" run -n {ranks} --timeout {HANG_GUARD} -- "$@"'
        return subprocess.run(["bash", "-c", script, WEFT, RANK, "plain"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=HANG_GUARD + 20, env=environment(**attributes))

    def test_of_files_are_named_with_the_attribute_of_the_segment(self):
        result = self.job("-f 4000", WEFT_SEGMENT_SIZE="64M")
        self.assertNotEqual(result.returncode, 0)
        for part in ("RLIMIT_FSIZE", "4096000 bytes", "segment_size", "67108864"):
            self.assertIn(part, result.stderr)
        self.assertNotIn("SIGXFSZ", result.stderr)

    def test_of_files_that_suffice_change_nothing(self):
        result = self.job("-f 70000", WEFT_SEGMENT_SIZE="64M")
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_of_address_space_are_named(self):
        result = self.job("-v 1000000", ranks=8, WEFT_SEGMENT_SIZE="512M")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("mmap: Cannot allocate memory (its address space is limited to 1000000 KiB", result.stderr)
        self.assertIn("segment_size", result.stderr)

    def test_of_open_files_are_named(self):
        result = self.job("-n 40", ranks=16)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("ulimit -n", result.stderr)


if __name__ == "__main__":
    unittest.main()
