"""Only those programs are built for a selection of tests that may have one of them."""

import json
import tempfile
import unittest
from pathlib import Path

import what_to_build


class Selection(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = Path(directory.name)
        self.tests = self.root / "tests"
        self.commands = []
        self.source("unit-core", "unit/core/ring_test.cpp", "TEST(Ring, wraps_around) {}\n")
        self.source("unit-core", "unit/core/pool_test.cpp", "TEST_F(Pool, gives_back) {}\n")
        self.source("conformance-network", "conformance/network/wires_test.cpp",
                    'TEST_P(Wires, carry) {}\nINSTANTIATE_TEST_SUITE_P(all, Wires, testing::Values("copper"));\n')
        self.together("unit-base", "unit/base/clock_test.cpp", "TEST(Clock, ticks) {}\n")
        self.source("test-program-soak", "multiprocess/soak/soak.cpp", "int main() { /* Ring */ }\n")
        for name in ("multiprocess/soak/short", "architecture/layers", "install/install"):
            path = self.tests / f"{name}_test.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("")

    def source(self, target, name, text):
        path = self.tests / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        self.commands.append({"file": str(path), "command": f"c++ -c {path} -o tests/CMakeFiles/{target}.dir/{name}.o"})
        (self.root / "compile_commands.json").write_text(json.dumps(self.commands))

    def together(self, target, name, text):
        """A source that is compiled together with others."""
        self.source(target, name, text)
        file = self.root / "tests" / "CMakeFiles" / f"{target}.dir" / "Unity" / "unity_0_cxx.cxx"
        file.parent.mkdir(parents=True)
        file.write_text(f'/* made */\n#include "{self.commands[-1]["file"]}"\n')
        self.commands[-1]["file"] = str(file)
        (self.root / "compile_commands.json").write_text(json.dumps(self.commands))

    def targets(self, *expressions):
        return what_to_build.targets(self.root, self.tests, expressions)

    def test_is_the_programs_whose_cases_are_meant(self):
        self.assertEqual(self.targets("Ring"), ["unit-core"])
        self.assertEqual(self.targets("Ring.wraps_around"), ["unit-core"])
        self.assertEqual(self.targets("^unit-core\\.(Pool|Ring)\\."), ["unit-core"])
        self.assertEqual(self.targets("Wires.carry/copper"), ["conformance-network"])
        self.assertEqual(self.targets("Pool|Wires"), ["conformance-network", "unit-core"])
        self.assertEqual(self.targets("Clock.ticks"), ["unit-base"])
        self.assertEqual(self.targets("Pool", "Wires"), ["conformance-network", "unit-core"])

    def test_knows_what_names_begin_with(self):
        self.assertEqual(self.targets("tcp.conformance-network.part"), ["conformance-network"])

    def test_is_all_programs_for_jobs_of_processes(self):
        self.assertEqual(self.targets("soak/short"), sorted([*what_to_build.PROGRAMS, "test-program-soak"]))

    def test_is_a_launcher_and_programs_in_c_for_the_interface_of_c(self):
        folder = self.tests / "multiprocess" / "c_interface"
        folder.mkdir(parents=True)
        (folder / "c_interface_test.py").write_text("")
        self.assertEqual(self.targets("c_interface"), ["c-programs", "weft-command"])

    def test_is_everything_where_nothing_is_found_and_for_what_needs_it(self):
        for expression in ("Unheard", "install", "layers"):
            self.assertEqual(self.targets(expression), [], expression)

    def test_an_expression_without_words_means_all_programs(self):
        self.assertEqual(self.targets(".")[:2], [])  # install/install_test is one of them


if __name__ == "__main__":
    unittest.main(verbosity=2)
