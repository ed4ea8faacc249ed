"""The versions that docs/internals/wire.md names are those of the code, and none is missing there."""

import os
import re
import unittest
from pathlib import Path

ROOT = Path(os.environ.get("WEFTDEV_SOURCE_DIR", Path(__file__).resolve().parents[2]))
CONSTANT = re.compile(r"constexpr std::uint\d+_t (k\w*Version) = (\d+);")
ROW = re.compile(r"^\| `(k\w*Version)` \| (\d+) \|", re.MULTILINE)
STATED = re.compile(r"`(k\w*Version)`[^|\n]{0,12} (?:is|=) (\d+)")


def versions_of_code(root):
    return {name: int(value) for top in ("src", "include") for path in sorted((root / top).rglob("*.hpp"))
            for name, value in CONSTANT.findall(path.read_text())}


def versions_of_page(text):
    return {name: int(value) for name, value in ROW.findall(text)}


class Versions(unittest.TestCase):
    def test_the_table_has_every_version_of_the_code(self):
        page = (ROOT / "docs/internals/wire.md").read_text()
        code = versions_of_code(ROOT)
        self.assertGreaterEqual(len(code), 4)
        self.assertEqual(versions_of_page(page), code)

    def test_the_version_of_the_headers_is_that_of_the_pages_and_examples(self):
        header = (ROOT / "include/weft/version.hpp").read_text()
        major, minor, patch = (re.search(rf"define WEFT_VERSION_{part} (\d+)", header).group(1) for part in ("MAJOR", "MINOR", "PATCH"))
        page = (ROOT / "docs/guide/abi.md").read_text()
        self.assertIn(f"libweft.so.{major}.{minor}`", page)
        self.assertIn(f"`{major}.{minor}.{patch}`", page)
        for path in ("README.md", "docs/guide/abi.md", "examples/CMakeLists.txt"):
            self.assertIn(f"find_package(weft {major}.{minor}", (ROOT / path).read_text(), path)

    def test_no_document_repeats_a_version_elsewhere(self):
        repeated = [f"{path.relative_to(ROOT)}: {match.group(0)}" for path in sorted((ROOT / "docs").rglob("*.md"))
                    for match in STATED.finditer(path.read_text())]
        self.assertEqual(repeated, [])

    def test_the_check_sees_a_version_that_is_old(self):
        self.assertEqual(versions_of_page("| version | value |\n| `kLayoutVersion` | 15 | a | b |\n"), {"kLayoutVersion": 15})
        self.assertRegex("`kLayoutVersion` is 15", STATED)


if __name__ == "__main__":
    unittest.main(verbosity=2)
