"""What `./dev new` lays compiles, stands where it is looked for, and is never laid over something."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import new_files

ROOT = Path(os.environ.get("WEFTDEV_SOURCE_DIR", Path(__file__).resolve().parents[2]))


class NewFiles(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = Path(directory.name)
        for folder in ("include", "src", "tools/study", "docs/decisions"):
            shutil.copytree(ROOT / folder, self.root / folder)
        (self.root / "tests" / "unit" / "core").mkdir(parents=True)

    def lay(self, kind, name):
        layer = new_files.Layer(self.root)
        new_files.KINDS[kind](layer, name)
        return layer.write()

    def compile(self, source, below="src"):
        result = subprocess.run(["c++", "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", f"-I{self.root}/include",
                                 f"-I{self.root}/{below}", str(self.root / source)], capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 0, result.stderr[:2000])

    @unittest.skipUnless(shutil.which("c++"), "there is no compiler")
    def test_a_collective_has_its_row_and_compiles(self):
        self.assertEqual(self.lay("collective", "all_to_some"), ["include/weft/collective/call.hpp", "src/collective/kinds/all_to_some.hpp",
                                                                "src/collective/kinds/kind_table.hpp"])
        self.compile("src/collective/collective_context.cpp")

    @unittest.skipUnless(shutil.which("c++"), "there is no compiler")
    def test_a_network_has_its_row_and_compiles(self):
        laid = self.lay("network", "pigeon")
        self.assertIn("src/network/pigeon/pigeon.cpp", laid)
        self.compile("src/network/pigeon/pigeon.cpp")
        self.compile("src/network/registry/registry.cpp")
        self.assertIn('"pigeon", Extent::hosts', (self.root / "src/network/registry/registry.cpp").read_text())

    @unittest.skipUnless(shutil.which("c++"), "there is no compiler")
    def test_a_study_has_its_rows_and_compiles(self):
        laid = self.lay("study", "pigeons")
        self.assertEqual(laid, ["tools/study/pigeons_plan.cpp", "tools/study/ranks/pigeons.cpp", "tools/study/ranks/rank_main.cpp",
                                "tools/study/ranks/workload.hpp", "tools/study/study_plan.cpp", "tools/study/study_plan.hpp"])
        self.compile("tools/study/pigeons_plan.cpp", "tools")
        self.compile("tools/study/ranks/pigeons.cpp", "tools")
        self.assertIn('{"pigeons", "TODO(docs): in a line", {"weft"}, plan_pigeons}', (self.root / "tools/study/study_plan.cpp").read_text())
        self.assertIn('{"pigeons", run_pigeons},', (self.root / "tools/study/ranks/rank_main.cpp").read_text())

    def test_a_test_fails_until_it_is_written(self):
        self.assertEqual(self.lay("test", "unit/core/turnstile"), ["tests/unit/core/turnstile_test.cpp"])
        self.assertIn("FAIL()", (self.root / "tests/unit/core/turnstile_test.cpp").read_text())

    def test_a_decision_takes_the_next_number_and_a_row(self):
        path, table = self.lay("decision", "Pigeons carry credits")
        number = path.split("/")[-1][:3]
        last = max(int(each.name[:3]) for each in (ROOT / "docs/decisions").glob("[0-9]*.md"))
        self.assertEqual(int(number), last + 1)
        self.assertIn(f"| [{number}]({path.split('/')[-1]}) | Pigeons carry credits | proposed |", (self.root / table).read_text())

    def test_nothing_is_laid_over_something_and_nothing_by_halves(self):
        before = (self.root / "src/collective/kinds/kind_table.hpp").read_text()
        for kind, name in (("collective", "gather"), ("collective", "Gather"), ("collective", "../x"), ("network", "tcp"), ("network", ""), ("study", "uts"),
                           ("test", "core/x"), ("test", "unit/nowhere/x"), ("decision", "?!")):
            with self.assertRaises(new_files.Refusal, msg=(kind, name)):
                self.lay(kind, name)
        self.assertEqual((self.root / "src/collective/kinds/kind_table.hpp").read_text(), before)
        self.assertFalse((self.root / "src/x.hpp").exists())

    def test_unknown_kinds_end_with_2(self):
        for arguments in ([], ["pony", "x"], ["test"]):
            self.assertEqual(new_files.main(arguments), 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
