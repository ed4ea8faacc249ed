"""The page about building names every option of CMake, with its default, and none that does not exist."""

import os
import re
import unittest
from pathlib import Path

ROOT = Path(os.environ.get("WEFTDEV_SOURCE_DIR", Path(__file__).resolve().parents[2]))
OPTION = re.compile(r"^ *option\((\w+) \"[^\"]+\" ([^)]+)\)", re.MULTILINE)
CACHED = re.compile(r"^ *set\((WEFT_\w+) (\S+) CACHE", re.MULTILINE)
ROW = re.compile(r"^\| `((?:WEFT|BUILD|CMAKE)_\w+)` \| ([^|]+) \|", re.MULTILINE)
SHOWN = {"${PROJECT_IS_TOP_LEVEL}": "top", '""': "empty"}


def options_of_build(root):
    """Defaults of all options, by name, as the page shows them."""
    options = {}
    for path in (root / "CMakeLists.txt", *sorted((root / "cmake").glob("*.cmake"))):
        for pattern in (OPTION, CACHED):
            for name, default in pattern.findall(path.read_text()):
                options[name] = SHOWN.get(default, default if "$" not in default else "a folder")
    return options


class Options(unittest.TestCase):
    def test_the_page_has_every_option_and_its_default(self):
        rows = {name: default.strip("` ") for name, default in ROW.findall((ROOT / "docs/guide/building.md").read_text())}
        rows.pop("CMAKE_BUILD_TYPE")  # of CMake itself
        self.assertEqual(rows, options_of_build(ROOT))

    def test_options_are_recognised(self):
        options = options_of_build(ROOT)
        self.assertEqual(options["WEFT_BUILD_TOOLS"], "top")
        self.assertEqual(options["WEFT_WITH_OFI"], "AUTO")
        self.assertEqual(options["WEFT_SANITIZE"], "empty")


if __name__ == "__main__":
    unittest.main(verbosity=2)
