"""Every public header compiles alone, or says in one line which language it needs; those of the data path bring in no heavy one."""

import functools
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(os.environ.get("WEFTDEV_SOURCE_DIR", Path(__file__).resolve().parents[2]))
INCLUDE = ROOT / "include"
COMPILER = os.environ.get("CXX", "c++")
FLAGS = ["-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Wno-sign-conversion", "-Werror"]
DATA_PATH = ["weft/types.hpp", "weft/status.hpp", "weft/options.hpp", "weft/message.hpp", "weft/endpoint.hpp",
             "weft/completion/*.hpp"]
HEAVY = {"functional", "vector", "string"}
# What libstdc++ 12 reaches <string> from by itself: no data path goes without atomics and ownership.
UNAVOIDABLE = {"atomic", "memory"}
# A user of another standard meets the header that he includes first: one line, and neither weft's errors nor his own behind it.
COMPILERS = [name for name in (COMPILER, *(f"clang++-{version}" for version in range(16, 30))) if shutil.which(name)]
OTHER_LANGUAGES = {"c++17": "c++", "gnu++11": "c++", "c11": "c"}
INCLUDE_LINE = re.compile(r"^\s*#\s*include\s*<([^>]+)>", re.MULTILINE)


def compiler(arguments):
    return subprocess.run([COMPILER, *FLAGS, *arguments], capture_output=True, text=True, check=False)


def fault_of_header(header, include=INCLUDE):
    """What the compiler says about a translation unit that is this one include, twice; "" when it accepts it."""
    with tempfile.TemporaryDirectory() as directory:
        unit = Path(directory) / "unit.cpp"
        unit.write_text(f"#include <{header}>\n#include <{header}>\n")
        result = compiler([f"-I{include}", "-fsyntax-only", str(unit)])
    return f"{header} does not compile alone:\n{result.stderr}" if result.returncode else ""


def errors_of_another_language(compiler_name, standard, header, include=INCLUDE):
    """The errors of a program of that standard that includes the header, and then uses what it would have declared."""
    with tempfile.TemporaryDirectory() as directory:
        unit = Path(directory) / "unit.cpp"
        unit.write_text(f"#include <{header}>\nweft::Runtime* runtime;\n")
        result = subprocess.run([compiler_name, "-x", OTHER_LANGUAGES[standard], f"-std={standard}", f"-I{include}", "-fsyntax-only",
                                 str(unit)], capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"})
    return [line for line in result.stderr.splitlines() if "error:" in line]


@functools.cache
def heavy_behind(standard_header):
    """The heavy headers that a standard header brings in, each with the chain of includes that leads to it."""
    with tempfile.TemporaryDirectory() as directory:
        unit = Path(directory) / "unit.cpp"
        unit.write_text(f"#include <{standard_header}>\n")
        result = compiler(["-fsyntax-only", "-H", str(unit)])
    chains, chain = [], []
    for line in result.stderr.splitlines():
        dots, _, name = line.partition(" ")
        if dots and set(dots) == {"."}:
            chain = chain[: len(dots) - 1] + [Path(name).name]
            if chain[-1] in HEAVY and "c++" in name:
                chains.append(list(chain))
    return chains


def standard_includes(header, include, chain=(), seen=None):
    """Standard headers that a public header includes, directly or through other public headers, with the chain."""
    seen = set() if seen is None else seen
    seen.add(header)
    chain = (*chain, header)
    for name in INCLUDE_LINE.findall((include / header).read_text()):
        if not name.startswith("weft/"):
            yield name, chain
        elif name not in seen:
            yield from standard_includes(name, include, chain, seen)


def heavy_includes(header, include=INCLUDE):
    """One line for each heavy standard header that a public header brings in."""
    return [f"{header} brings in <{behind[-1]}>: " + " > ".join([*chain, *behind])
            for name, chain in standard_includes(header, include) if name not in UNAVOIDABLE
            for behind in heavy_behind(name)]


def public_headers():
    return sorted(path.relative_to(INCLUDE).as_posix() for path in INCLUDE.rglob("*.hpp"))


def in_parallel(function, items):
    with ThreadPoolExecutor(max_workers=2) as pool:
        return list(pool.map(function, items))


class PublicHeaders(unittest.TestCase):
    def test_each_compiles_alone(self):
        headers = public_headers()
        self.assertTrue(headers)
        faults = [fault for fault in in_parallel(fault_of_header, headers) if fault]
        if faults:
            self.fail("\n" + "\n".join(faults))

    def test_data_path_headers_bring_in_no_heavy_standard_header(self):
        headers = sorted({path.relative_to(INCLUDE).as_posix() for pattern in DATA_PATH for path in INCLUDE.glob(pattern)})
        for pattern in DATA_PATH:
            self.assertTrue(list(INCLUDE.glob(pattern)), f"{pattern} names no header")
        faults = [fault for faults in in_parallel(heavy_includes, headers) for fault in faults]
        if faults:
            self.fail("\n" + "\n".join(faults))

    def test_each_has_pragma_once(self):
        missing = [header for header in public_headers() if "#pragma once" not in (INCLUDE / header).read_text()]
        self.assertEqual(missing, [])


class OtherLanguages(unittest.TestCase):
    def test_each_says_in_one_line_which_language_it_needs(self):
        cases = [(COMPILERS[0], "c++17", header) for header in public_headers()]
        cases += [(name, standard, header) for name in COMPILERS for standard in OTHER_LANGUAGES
                  for header in ("weft/weft.hpp", "weft/parcel/parcel.hpp")]
        for case, errors in zip(cases, in_parallel(lambda case: errors_of_another_language(*case), cases)):
            with self.subTest(case):
                self.assertEqual(len(errors), 1, "\n".join(errors[:3]))
                self.assertIn("weft needs C++20; compile with -std=c++20", errors[0])


class TheCheckItself(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.include = Path(self.directory.name)
        (self.include / "weft").mkdir()

    def write(self, name, text):
        (self.include / "weft" / name).write_text("#pragma once\n" + text)

    def test_reports_a_header_that_relies_on_its_includer(self):
        self.write("needy.hpp", "inline std::size_t size() { return 0; }\n")
        self.assertIn("weft/needy.hpp does not compile alone", fault_of_header("weft/needy.hpp", self.include))

    def test_sees_what_another_language_would_get_beyond_one_line(self):
        self.write("late.hpp", "#if __cplusplus < 202002L\n#error weft needs C++20\n#endif\n")
        self.assertGreater(len(errors_of_another_language(COMPILER, "c++17", "weft/late.hpp", self.include)), 1)

    def test_reports_a_heavy_header_behind_another_header(self):
        self.write("inner.hpp", "#include <vector>\n")
        self.write("outer.hpp", "#include <weft/inner.hpp>\n")
        self.assertIn("weft/outer.hpp > weft/inner.hpp > vector",
                      "\n".join(heavy_includes("weft/outer.hpp", self.include)))


if __name__ == "__main__":
    unittest.main(verbosity=2)
