"""The table of features in README.md names what the tree has: networks, launchers, collectives, streams, parcelports, tools, bindings."""

import os
import re
import unittest
from pathlib import Path

ROOT = Path(os.environ.get("WEFTDEV_SOURCE_DIR", Path(__file__).resolve().parents[2]))
# The launchers of the field that the ranks' side in each folder of src/bootstrap/launchers is for.
LAUNCHERS = {"environment": ["torchrun", "Slurm"], "mpi": ["MPI programs"], "pmi1": ["Hydra"], "pmix": ["Open MPI"]}
LANGUAGES = {"c": "C", "lci": "LCI", "mpi": "MPI", "python": "Python"}


def cells(text, row):
    """Works, limited, planned."""
    lines = [line for line in text.splitlines() if line.startswith(f"| {row} |")]
    if len(lines) != 1:
        raise AssertionError(f"README.md has {len(lines)} rows '{row}' in its table of features")
    return [cell.strip() for cell in lines[0].strip("|").split("|")][1:]


class FeatureTable(unittest.TestCase):
    def setUp(self):
        self.text = (ROOT / "README.md").read_text()

    def there(self, row):
        works, limited, _ = cells(self.text, row)
        return works + " " + limited

    def test_networks_are_those_of_the_registry(self):
        source = (ROOT / "src/network/registry/registry.cpp").read_text()
        rows = re.findall(r'^    \{"(\w+)", Extent::\w+,(.*?)(?=^    \{"|^\};)', source, re.MULTILINE | re.DOTALL)
        self.assertGreaterEqual(len(rows), 5)
        for name, row in rows:
            there, planned = self.there("networks"), cells(self.text, "networks")[2]
            self.assertIn(f"`{name}`", planned if "nullptr" in row else there)
            if "nullptr" not in row:
                self.assertNotIn(f"`{name}`", planned)

    def test_launchers_are_those_that_ranks_can_join(self):
        for folder in sorted(path.name for path in (ROOT / "src/bootstrap/launchers").iterdir() if path.is_dir()):
            for name in LAUNCHERS[folder]:
                self.assertIn(name, self.there("launchers"))

    def test_collectives_are_the_kinds(self):
        header = (ROOT / "include/weft/collective/call.hpp").read_text()
        kinds = re.findall(r"^  (\w+),$", re.search(r"enum class CollectiveKind[^{]*\{(.*?)\}", header, re.DOTALL).group(1), re.MULTILINE)
        self.assertGreaterEqual(len(kinds), 13)
        for kind in kinds:
            self.assertIn(f"`{kind}`", self.there("collectives"))

    def test_streams_are_the_public_classes(self):
        for header in sorted((ROOT / "include/weft/stream").glob("*.hpp")):
            name = "".join(part.capitalize() for part in header.stem.split("_"))
            self.assertIn(f"`{name}`", self.there("streams"))

    def test_parcelports_and_tools_are_there(self):
        ports = re.findall(r'\.name = "([\w-]+)"', (ROOT / "tools/study/parcelports/parcelports.cpp").read_text())
        self.assertGreaterEqual(len(ports), 5)
        for port in ["weft", *ports]:
            self.assertIn(f"`{port}`", self.there("task runtime"))
        for command in re.findall(r'^    \{"(\w+)", ', (ROOT / "tools/main.cpp").read_text(), re.MULTILINE):
            self.assertIn(f"`weft {command}`", self.there("tools"))

    def test_bindings_work_or_are_planned(self):
        works, limited, planned = cells(self.text, "languages")
        folders = [path.name for path in (ROOT / "bindings").iterdir() if path.is_dir()] if (ROOT / "bindings").is_dir() else []
        for folder, name in LANGUAGES.items():
            where = works + " " + limited if folder in folders else planned
            self.assertRegex(where, rf"\b{name}\b", f"bindings/{folder}")
        self.assertEqual(sorted(set(folders) - set(LANGUAGES)), [])

    def test_every_row_leads_to_a_page(self):
        table = [line for line in self.text.splitlines() if re.match(r"^\| [a-zA-Z]", line)]
        self.assertGreaterEqual(len(table), 10)
        for line in table:
            pages = re.findall(r"\]\((docs/[\w/.-]+\.md)\)", line)
            self.assertTrue(pages, line[:60])
            for page in pages:
                self.assertTrue((ROOT / page).is_file(), page)


if __name__ == "__main__":
    unittest.main()
