"""The programs of wrong/*.c, compiled, and what tests of them share."""

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

BIN = Path(os.environ["WEFTDEV_BIN_DIR"])
SOURCES = Path(__file__).resolve().parent / "wrong"
HANG_GUARD = 240


def line_of(source, comment):
    """The place of the line with this comment: deadlocks.c:13."""
    for number, text in enumerate((SOURCES / source).read_text().splitlines(), 1):
        if f"/* {comment} */" in text:
            return f"{source}:{number}"
    raise AssertionError(f"{source} has no comment {comment}")


class TestOfWrongPrograms(unittest.TestCase):
    """Of those whose sources `compiled` names; all, where it is empty."""

    compiled = ()

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        for source in SOURCES.glob("*.c"):
            if source.stem in ("loaded", "loads") or (cls.compiled and source.stem not in cls.compiled):
                continue
            # As the program was compiled, its places are named.
            subprocess.run([BIN / "mpicc", "-g", "-O1", "-o", Path(cls.folder.name) / source.stem, source.name], check=True, cwd=SOURCES)

    def run_to_end(self, program, name, ranks, cwd=None, **env):
        result = subprocess.run([BIN / "weft", "run", "-n", str(ranks), "--timeout", "120", "--", Path(self.folder.name) / program, name],
                                capture_output=True, text=True, timeout=HANG_GUARD, check=False, cwd=cwd, env={**os.environ, **env})
        self.assertNotEqual(result.returncode, 0, f"{name}: {result.stderr}")
        self.assertNotIn("did not end within", result.stderr)
        return result.stderr

    def assert_says(self, text, *parts):
        for part in parts:
            self.assertRegex(text, part)
