"""The binary interface of weft for C: exported symbols and their version, sizes, offsets and values, compared with committed lists."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import c_headers

BINARIES = Path(os.environ["WEFTDEV_BIN_DIR"])
LAYOUT = c_headers.HERE / "tests" / "layout_and_values.c"


class Symbols(unittest.TestCase):
    """What programs link to."""

    def declared(self):
        return sorted(function.name for function in c_headers.functions())

    def test_every_symbol_that_was_ever_released_is_declared(self):
        released = (c_headers.HERE / "symbols.txt").read_text().split()
        self.assertEqual(released, self.declared(), "symbols.txt lists what is released: a function may be added there, none removed")

    @unittest.skipUnless(shutil.which("nm"), "there is no nm")
    def test_the_library_exports_these_and_nothing_else(self):
        libraries = sorted(BINARIES.parent.glob("lib/libweft-c.so"))
        self.assertTrue(libraries)
        listed = subprocess.run(["nm", "-D", "--defined-only", str(libraries[0])], capture_output=True, text=True, check=True).stdout
        names = [line.split()[-1] for line in listed.splitlines()]
        exported = sorted(name.split("@")[0] for name in names if name.startswith("weft_"))
        self.assertEqual(exported, self.declared())
        others = [name for name in names if not name.startswith(("weft_", "WEFT_C_"))]
        self.assertEqual(others, [])
        self.assertTrue(all("@@WEFT_C_0.1" in name for name in names if name.startswith("weft_")), listed[:500])

    @unittest.skipUnless(shutil.which("readelf"), "there is no readelf")
    @unittest.skipIf(os.environ.get("WEFTDEV_TEST_SANITIZER"), "sanitizers have variables of their own")
    def test_the_library_leaves_thread_local_memory_to_others(self):
        """Of libraries that a process opens later, as interpreters do, glibc has room for 1,664 bytes all together."""
        headers = subprocess.run(["readelf", "-lW", str(next(BINARIES.parent.glob("lib/libweft-c.so")))], capture_output=True, text=True, check=True).stdout
        [size] = re.findall(r"^\s+TLS(?:\s+0x[0-9a-f]+){4}\s+(0x[0-9a-f]+)", headers, re.MULTILINE)
        self.assertLessEqual(int(size, 16), 440)

    @unittest.skipIf(os.environ.get("WEFTDEV_TEST_SANITIZER"), "its runtime has to be loaded first")
    def test_the_libraries_of_all_bindings_can_be_opened_in_one_interpreter(self):
        libraries = [str(path) for name in ("weft-c", "weft-lci", "mpi_abi") for path in BINARIES.parent.glob(f"lib/lib{name}.so")]
        for order in (libraries, libraries[::-1]):
            opened = subprocess.run([sys.executable, "-c", "import ctypes, sys\nfor path in sys.argv[1:]: ctypes.CDLL(path)", *order],
                                    capture_output=True, text=True)
            self.assertEqual((opened.returncode, opened.stderr), (0, ""))


class Layout(unittest.TestCase):
    """What programs have been compiled with: layout_and_values.c does not compile when any of it has changed."""

    def test_every_struct_field_and_value_is_listed(self):
        listed = LAYOUT.read_text()
        self.assertEqual(dict.fromkeys(re.findall(r"^SIZE\((\w+),", listed, re.MULTILINE)), dict.fromkeys(c_headers.fields()))
        for struct, fields in c_headers.fields().items():
            self.assertEqual(re.findall(rf"^FIELD\({struct}, (\w+),", listed, re.MULTILINE), fields, struct)
        self.assertEqual(re.findall(r"^VALUE\((\w+),", listed, re.MULTILINE), c_headers.constants())

    def compiled(self, folder):
        return subprocess.run([self.compiler, "-std=c99", "-fsyntax-only", f"-I{folder}", str(LAYOUT)], capture_output=True, text=True)

    def test_a_changed_offset_size_or_value_does_not_compile(self):
        self.compiler = shutil.which("cc") or shutil.which("gcc")
        if self.compiler is None:
            self.skipTest("there is no C compiler")
        changes = {
            "a field before others": ("endpoint.h", "  uint32_t engine;  ", "  uint64_t earlier;\n  uint32_t engine;  ", "offset_of_engine_in_weft_options"),
            "two fields that change places": ("stream.h", "  int32_t rank;\n  uint32_t index;\n", "  uint32_t index;\n  int32_t rank;\n", "offset_of_rank_in_weft_stream_address"),
            "a wider field": ("endpoint.h", "  int32_t peer;", "  int64_t peer;", "offset_of_reserved_in_weft_probed"),
            "a field at the end": ("endpoint.h", "  uint64_t words[2];", "  uint64_t words[3];", "size_of_weft_send_handle"),
            "a value": ("base.h", "WEFT_TRUNCATED = 33", "WEFT_TRUNCATED = 38", "value_of_WEFT_TRUNCATED"),
        }
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(c_headers.HEADERS.parent, folder, dirs_exist_ok=True)
            unchanged = self.compiled(folder)
            self.assertEqual(unchanged.returncode, 0, unchanged.stderr)
            for what, (header, before, after, complaint) in changes.items():
                with self.subTest(what):
                    path = Path(folder) / "weft_c" / header
                    original = path.read_text()
                    self.assertIn(before, original)
                    path.write_text(original.replace(before, after, 1))
                    self.assertIn(complaint, self.compiled(folder).stderr)
                    path.write_text(original)


if __name__ == "__main__":
    unittest.main()
