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
        for options, compiler in (("-compile-info", "-compile_info"), "cc "), (("-showme:compile", "--showme:compile"), ""):
            for option in options:
                self.assertRegex(self.said(option), rf"^{compiler}-I\S+( -I\S+)*$")
        for options, compiler in (("-link-info", "-link_info"), "cc "), (("-showme:link", "--showme:link"), ""):
            for option in options:
                self.assertRegex(self.said(option), rf"^{compiler}-L\S+ -Wl,-rpath,\S+ -lmpi_abi$")
        self.assertEqual(self.said("--showme:command"), "cc")
        self.assertRegex(self.said("--showme:version"), r"weft .*\d+\.\d+")
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

    def test_a_compiler_that_variables_of_other_libraries_name(self):
        for name in ("MPI_CC", "MPICH_CC", "OMPI_CC"):
            shown = subprocess.run([BIN / "mpicc", "-show"], capture_output=True, text=True, check=True, env={**os.environ, name: "gcc -m64"})
            self.assertRegex(shown.stdout, r"^gcc -m64 -I")

    def test_an_object_of_several_objects(self):
        with tempfile.TemporaryDirectory() as folder:
            self.said("-c", SOURCE, "-o", Path(folder, "one.o"))
            self.said("-r", "-nostdlib", "-o", Path(folder, "all.o"), Path(folder, "one.o"))
            self.said("-o", Path(folder, "say"), Path(folder, "all.o"))

    def test_flags_serve_the_compiler_itself(self):
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder, "say")
            subprocess.run(["cc", *self.said("--showme:compile").split(), "-o", program, SOURCE, *self.said("--showme:link").split()], check=True)
            self.assertTrue(program.exists())

    def test_the_header_has_no_warnings_in_any_standard(self):
        common = ["-Werror", "-Wall", "-Wextra", "-pedantic", "-Wshadow", "-Wconversion", "-Wcast-qual", "-Wundef", "-Wredundant-decls"]
        for name, standards, more in (("mpicc", ("c90", "c99", "c11", "c2x"), ("-Wstrict-prototypes", "-xc")),
                                      ("mpic++", ("c++98", "c++11", "c++20"), ("-Wold-style-cast", "-Wuseless-cast", "-xc++"))):
            for standard in standards:
                with self.subTest(standard):
                    result = subprocess.run([BIN / name, f"-std={standard}", *common, *more, "-fsyntax-only", "-"], input="#include <mpi.h>\n",
                                            capture_output=True, text=True, timeout=120, check=False)
                    self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_all_names_of_the_compiler_for_cpp(self):
        for name in ("mpic++", "mpicxx", "mpiCC"):
            shown = subprocess.run([BIN / name, "-show"], capture_output=True, text=True, timeout=120, check=True).stdout
            self.assertRegex(shown, r"^c\+\+ -I")


if __name__ == "__main__":
    unittest.main()
