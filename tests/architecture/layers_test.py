"""Includes follow the layer table of docs/internals/architecture.md, and files stay short."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import layers

ROOT = Path(os.environ.get("WEFTDEV_SOURCE_DIR", Path(__file__).resolve().parents[2]))
NORMAL_LENGTH = 400
GREATEST_LENGTH = 600
# Rows of the table that stand for a file: none may be added.
SINGLE_FILES = []
COUNTED_SUFFIXES = layers.SOURCE_SUFFIXES | {".py", ".sh", ".cmake"}

TABLE = """
| layer | folder | may include |
|---|---|---|
| values | `include/weft/types.hpp` | |
| classes | `include/weft/` | values |
| base | `src/base/` | values |
| network | `src/network/` | values, base |
| backends | `src/network/*/` | values, base, network |
| parts | `src/core/{packet,memory}/` | values, base |
| api | `src/api/` | values, classes, base, network, backends, parts |
| tests | `tests/` | anything |

"""


class TheTreeOfThisProject(unittest.TestCase):
    def test_includes_point_down(self):
        table = layers.read_table((ROOT / "docs" / "internals" / "architecture.md").read_text())
        faults = layers.check_includes(ROOT, table)
        if faults:
            self.fail("\n" + "\n".join(faults))

    def test_no_folders_include_each_other(self):
        for circle, includes in layers.folder_circles(ROOT):
            with self.subTest(circle=circle):
                self.fail("\n".join(["these folders include each other:", *circle, "by:", *includes]))

    def test_the_table_names_folders_and_not_single_files_of_the_library(self):
        table = layers.read_table((ROOT / "docs" / "internals" / "architecture.md").read_text())
        files = [pattern.text for layer in table for pattern in layer.patterns
                 if pattern.text.startswith("src/") and not pattern.text.endswith("/")]
        self.assertEqual(files, SINGLE_FILES)

    def test_files_stay_short(self):
        long, too_long = [], []
        for path in files_of_the_tree():
            count = len((ROOT / path).read_text(errors="replace").splitlines())
            if count > GREATEST_LENGTH:
                too_long.append(f"{path}: {count} lines, more than {GREATEST_LENGTH}")
            elif count > NORMAL_LENGTH:
                long.append(f"{path}: {count} lines, more than the normal {NORMAL_LENGTH}")
        print("\n".join(long))
        if too_long:
            self.fail("\n" + "\n".join(too_long))


class TheCheckItself(unittest.TestCase):
    """Each rule is broken once on purpose: a check that cannot fail shows nothing."""

    def faults(self, files):
        with tempfile.TemporaryDirectory() as directory:
            root = Path(directory)
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            return layers.check_includes(root, layers.read_table(TABLE))

    def test_accepts_includes_that_point_down(self):
        files = {
            "include/weft/types.hpp": "#include <cstddef>\n",
            "include/weft/runtime.hpp": "#include <weft/types.hpp>\n",
            "src/base/log.hpp": "#include <weft/types.hpp>\n",
            "src/network/network.hpp": '#include "base/log.hpp"\n',
            "src/network/shm/ring.hpp": '#include "network/network.hpp"\n',
            "src/network/shm/shm.cpp": '#include "network/shm/ring.hpp"\n',
            "src/api/runtime.cpp": '#include <weft/runtime.hpp>\n#include "network/shm/ring.hpp"\n',
        }
        self.assertEqual(self.faults(files), [])

    def test_reports_an_include_that_points_up(self):
        files = {"src/base/log.hpp": '#include "network/network.hpp"\n', "src/network/network.hpp": ""}
        self.assertIn("layer 'base' may not include layer 'network'", "\n".join(self.faults(files)))

    def test_reports_a_value_type_that_includes_a_class(self):
        files = {"include/weft/types.hpp": "#include <weft/runtime.hpp>\n", "include/weft/runtime.hpp": ""}
        self.assertIn("layer 'values' may not include layer 'classes'", "\n".join(self.faults(files)))

    def test_reports_a_backend_that_includes_another_backend(self):
        files = {"src/network/shm/shm.cpp": '#include "network/sim/sim.hpp"\n', "src/network/sim/sim.hpp": ""}
        self.assertIn("siblings of layer 'backends'", "\n".join(self.faults(files)))

    def test_reports_a_sibling_named_by_a_path_through_the_parent(self):
        files = {"src/network/shm/shm.cpp": '#include "../sim/sim.hpp"\n', "src/network/sim/sim.hpp": ""}
        self.assertIn("siblings of layer 'backends'", "\n".join(self.faults(files)))

    def test_reports_alternatives_that_include_each_other(self):
        files = {"src/core/packet/pool.hpp": '#include "core/memory/region.hpp"\n', "src/core/memory/region.hpp": ""}
        self.assertIn("siblings of layer 'parts'", "\n".join(self.faults(files)))

    def test_reports_folders_that_include_each_other(self):
        files = {"src/a/a.hpp": '#include "b/c/c.hpp"\n', "src/b/c/c.hpp": '#include "d/d.hpp"\n', "src/d/d.hpp": "",
                 "src/d/more.cpp": '#include "a/a.hpp"\n', "src/e/e.cpp": '#include "a/a.hpp"\n#include "e/own.hpp"\n', "src/e/own.hpp": ""}
        with tempfile.TemporaryDirectory() as directory:
            root = Path(directory)
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            [(circle, includes)] = layers.folder_circles(root)
        self.assertEqual(circle, ["src/a", "src/b/c", "src/d"])
        self.assertIn("src/d/more.cpp includes src/a/a.hpp", includes)
        self.assertEqual(len(includes), 3)

    def test_reports_an_interface_that_includes_its_backend(self):
        files = {"src/network/network.hpp": '#include "network/shm/ring.hpp"\n', "src/network/shm/ring.hpp": ""}
        self.assertIn("layer 'network' may not include layer 'backends'", "\n".join(self.faults(files)))

    def test_reports_a_private_include_of_a_public_header(self):
        files = {"include/weft/runtime.hpp": '#include "base/log.hpp"\n', "src/base/log.hpp": ""}
        self.assertIn("public headers include <weft/...>", "\n".join(self.faults(files)))

    def test_reports_a_missing_file_and_a_folder_outside_the_table(self):
        faults = "\n".join(self.faults({"src/base/log.cpp": '#include "base/gone.hpp"\n', "src/new/a.cpp": ""}))
        self.assertIn("the tree has no such file", faults)
        self.assertIn("src/new/a.cpp: lies in no row", faults)

    def test_refuses_a_table_that_names_an_unknown_layer(self):
        with self.assertRaisesRegex(ValueError, "unknown layer 'bse'"):
            layers.read_table("| layer | folder | may include |\n|---|---|---|\n| api | `src/api/` | bse |\n")


def files_of_the_tree():
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-z"], capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        names = [Path(name) for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]
        return [path for path in names if path.suffix in COUNTED_SUFFIXES or path.name == "dev"]
    return list(layers.source_files(ROOT))


if __name__ == "__main__":
    unittest.main(verbosity=2)
