"""mpicc answers as other libraries' compilers do: what configure scripts and CMake ask for."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

BIN = Path(os.environ["WEFTDEV_BIN_DIR"])
SOURCE = Path(__file__).resolve().parent / "commands" / "say.c"


class Mpicc(unittest.TestCase):
    def said(self, *arguments):
        return subprocess.run([BIN / "mpicc", *arguments], capture_output=True, text=True, timeout=120, check=True).stdout.strip()

    def test_the_command_is_shown(self):
        for option in ("-show", "--show", "-showme", "--showme"):
            shown = self.said(option, "-O2", "program.c")
            self.assertRegex(shown, r"^cc -I.* -O2 program\.c -L\S+ -Wl,-rpath,\S+ -lmpi_abi$")

    def test_its_parts_are_shown(self):
        for option in ("-showme:compile", "--showme:compile", "-compile-info", "-compile_info"):
            self.assertRegex(self.said(option), r"^cc -I\S+( -I\S+)*$")
        for option in ("-showme:link", "--showme:link", "-link-info", "-link_info"):
            self.assertRegex(self.said(option), r"^cc -L\S+ -Wl,-rpath,\S+ -lmpi_abi$")
        for folder in self.said("--showme:incdirs").split():
            self.assertTrue(Path(folder).is_dir(), folder)
        self.assertTrue(Path(self.said("--showme:libdirs"), "libmpi_abi.so").exists())
        self.assertEqual(self.said("--showme:libs"), "mpi_abi")

    def test_another_compiler(self):
        self.assertRegex(self.said("-cc=gcc -m64", "-show", "a b.c"), r"^gcc -m64 -I.* a b\.c -L")
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder, "with a blank")
            self.said("-cc=gcc", "-o", program, SOURCE)
            self.assertTrue(program.exists())


if __name__ == "__main__":
    unittest.main()
