"""weft for C: its examples as jobs, every operation, what is wrong, and the symbols that its library promises."""

import os
import re
import shutil
import subprocess
import unittest
from pathlib import Path

from weft_job import environment, program, run

ROOT = Path(os.environ["WEFTDEV_SOURCE_DIR"])
BINARIES = Path(os.environ["WEFTDEV_BIN_DIR"])
HERE = ROOT / "bindings" / "c"
DECLARED = re.compile(r"^WEFT_C_API\s[^;(]*?\b(weft_\w+)\(", re.MULTILINE)


def example(name):
    return BINARIES / f"c-example-{name}"


class CInterface(unittest.TestCase):
    def succeeds(self, ranks, command, network="auto", told="nothing"):
        """Its output. Of what it writes to standard error each line has this text."""
        result = run(ranks, command, env=environment(WEFT_NETWORK=network) if network != "auto" else None)
        self.assertEqual(result.returncode, 0, f"{result.stdout}\n{result.stderr}")
        self.assertEqual([line for line in result.stderr.splitlines() if told not in line], [])
        return result.stdout

    def test_examples_run_on_any_number_of_ranks(self):
        for ranks in (1, 3):
            with self.subTest(ranks=ranks):
                self.assertEqual(sorted(self.succeeds(ranks, example("hello")).splitlines()),
                                 [f"hello from rank {rank} of {ranks}" for rank in range(ranks)])
                self.assertEqual(self.succeeds(ranks, example("ring")), f"{1000 * ranks} hops\n")
                self.assertEqual(self.succeeds(ranks, example("threads")), "40000 messages\n")
                self.assertEqual(self.succeeds(ranks, example("put")), f"{ranks} ranks have put\n")
                self.assertEqual(self.succeeds(ranks, example("collectives")), f"{ranks} ranks agree\n")

    def test_every_operation_works_over_shared_memory_and_sockets(self):
        for network in ("auto", "tcp"):
            with self.subTest(network=network):
                self.assertEqual(self.succeeds(2, program("c-test-operations"), network, told="a put of 7 bytes at offset 60"), "ok\nok\n")

    def test_contexts_teams_graphs_and_streams(self):
        for ranks, network in ((3, "auto"), (2, "tcp")):
            for name in ("contexts_and_teams", "graphs_and_streams"):
                with self.subTest(ranks=ranks, network=network, program=name):
                    self.assertEqual(self.succeeds(ranks, program(f"c-test-{name}"), network), "ok\n" * ranks)

    def test_what_is_wrong_has_a_line_that_names_function_and_value(self):
        lines = dict(line.split(" | ", 1) for line in self.succeeds(1, program("c-test-misuse")).splitlines())
        self.assertGreaterEqual(len(lines), 30)
        for what, line in lines.items():
            self.assertRegex(line, r"^weft_\w+: .+", what)
        self.assertIn("options->size is 3", lines["size of options"])
        self.assertIn("enormous", lines["bad attribute"])
        self.assertIn("99", lines["no rank"])
        self.assertIn("engine", lines["engine of an active message"])
        self.assertIn("another kind", lines["a counter is no queue"])
        self.assertIn("4294967296", lines["tag of a context"])
        self.assertIn("40", lines["no such collective"])

    def test_sizes_and_values_are_those_of_the_first_version(self):
        self.assertEqual(subprocess.run([program("c-test-abi")], capture_output=True, text=True, check=True).stdout, "ok\n")


class Symbols(unittest.TestCase):
    """What programs link to."""

    def declared(self):
        text = "\n".join(path.read_text() for path in sorted((HERE / "include" / "weft_c").glob("*.h")))
        return sorted(set(DECLARED.findall(text)))

    def test_every_symbol_that_was_ever_released_is_declared(self):
        released = (HERE / "symbols.txt").read_text().split()
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


if __name__ == "__main__":
    unittest.main()
