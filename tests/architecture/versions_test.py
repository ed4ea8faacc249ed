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


def headers_from(include, headers):
    """These headers, and all that they include."""
    found, waiting = set(), list(headers)
    while waiting:
        header = waiting.pop()
        if header not in found:
            found.add(header)
            waiting += re.findall(r"#include <(weft/[^>]+)>", (include / header).read_text())
    return found


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

    def test_every_public_header_is_named_where_stability_is_promised(self):
        include = ROOT / "include"
        page = (ROOT / "docs/guide/abi.md").read_text()
        promised = headers_from(include, re.findall(r"<(weft/[\w/]+\.hpp)>", page))
        public = {path.relative_to(include).as_posix() for path in include.rglob("*.hpp") if "detail" not in path.parts}
        self.assertEqual(sorted(public - promised), [])

    def test_the_check_sees_a_version_that_is_old(self):
        self.assertEqual(versions_of_page("| version | value |\n| `kLayoutVersion` | 15 | a | b |\n"), {"kLayoutVersion": 15})
        self.assertRegex("`kLayoutVersion` is 15", STATED)


if __name__ == "__main__":
    unittest.main(verbosity=2)
