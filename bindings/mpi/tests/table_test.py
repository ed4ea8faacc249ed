"""The table of functions: complete, said in the guide as it is, and each function a symbol of the library under both of its names."""

import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(os.environ.get("WEFTDEV_SOURCE_DIR", Path(__file__).resolve().parents[3]))
sys.path.insert(0, str(ROOT / "bindings" / "mpi" / "generate"))

import functions  # noqa: E402
import generate  # noqa: E402


class TheTable(unittest.TestCase):
    def setUp(self):
        self.groups = functions.read_groups()
        self.names = [name for rows in self.groups.values() for row in rows for name in row.names()]

    def test_has_every_function_of_the_abi(self):
        self.assertEqual(len(self.names), 664)

    def test_stands_in_the_guide(self):
        guide = (ROOT / "docs" / "guide" / "bindings" / "mpi.md").read_text()
        self.assertIn(generate.markdown(self.groups), guide,
                      "docs/guide/bindings/mpi.md is not current: put in what `bindings/mpi/generate/generate.py --markdown` prints")

    def test_makes_symbols_of_the_library(self):
        library = Path(os.environ["WEFTDEV_BIN_DIR"]).parent / "lib" / "libmpi_abi.so.1"
        listed = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
        kinds = {name: kind for kind, name in re.findall(r"^\S+ (\S) (P?MPI_\S+)$", listed, re.MULTILINE)}
        self.assertEqual({name for name in kinds if name.startswith("MPI_")}, {f"MPI_{name}" for name in self.names})
        for name in self.names:
            self.assertEqual((kinds[f"MPI_{name}"], kinds[f"PMPI_{name}"]), ("W", "T"), name)

    def test_refuses_rows_that_it_cannot_read(self):
        with self.assertRaisesRegex(ValueError, "a row is a name, one of here, missing, plain or a code T_ERR_"):
            functions.read_row("Send perhaps int x", "group", "file:1")
        with self.assertRaisesRegex(ValueError, "'int' is no argument"):
            functions.read_row("Send here int", "group", "file:1")


if __name__ == "__main__":
    unittest.main(verbosity=2)
