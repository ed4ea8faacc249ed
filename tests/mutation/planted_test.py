"""Every planted fault still applies to the tree, and the list says what is wrong with it."""

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import generated
import mutate
import planted
import scratch

FAULT = """
[one]
stands_for = "bounds"
file = "a.hpp"
find = "x < y"
replace = "FAULT || x < y"
programs = ["unit"]
tests = "^unit"
"""


class TheListOfThisTree(unittest.TestCase):
    def test_has_forty_faults_at_least_and_all_apply(self):
        faults = planted.read_faults()
        self.assertGreaterEqual(len(faults), 40)
        texts = planted.plant(faults, scratch.ROOT)
        for fault in faults:
            self.assertTrue(any(f'planted::is_on("{fault.name}")' in text for text in texts.values()), fault.name)

    def test_the_product_has_no_trace_of_it(self):
        for folder in ("src", "include", "tools", "apps", "bindings"):
            for path in (scratch.ROOT / folder).rglob("*.[ch]pp"):
                self.assertNotRegex(path.read_text(), "planted::|planted_faults|" + planted.SWITCH, path)

    def test_every_fault_names_programs_that_there_are(self):
        known = {path.name for path in (scratch.ROOT / "tests").glob("*/*")} | {"concurrent", "budget"}
        for fault in planted.read_faults():
            for program in fault.programs:
                if program in ("weft-command", "weft-mpi-tests", "c-programs", "lci-programs") or program.startswith(("test-program-", "example-")):
                    continue
                self.assertIn(program.split("-", 1)[-1], known, f"{fault.name}: {program}")

    def test_every_fault_names_tests_that_there_are(self):
        listed = subprocess.run(["ctest", "--test-dir", str(Path(os.environ["WEFTDEV_BIN_DIR"]).parent), "--show-only=json-v1"],
                                capture_output=True, text=True, check=True)
        names = [test["name"] for test in json.loads(listed.stdout)["tests"]]
        for part in ("mpi/", "multiprocess/lci/", "multiprocess/c_interface/", "ofi.", "unit-network.Ibv"):
            if not any(name.startswith(part) for name in names):
                self.skipTest(f"this build has no tests {part}*")
        missing = {name.rsplit(".", 1)[-1].removesuffix("_NOT_BUILT") for name in names if name.endswith("_NOT_BUILT")}
        for fault in planted.read_faults():
            if not missing.intersection(fault.programs):
                self.assertTrue(any(fault.tests.search(name) for name in names), f"{fault.name}: no test is called '{fault.tests.pattern}'")


class AList(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = Path(directory.name)
        (self.root / "a.hpp").write_text("// A header.\n#pragma once\nbool f(int x, int y) { return x < y; }\n")

    def faults(self, text):
        (self.root / "faults.toml").write_text(text)
        return planted.read_faults(self.root)

    def refusal(self, text):
        with self.assertRaises(planted.PlantingError) as refused:
            planted.plant(self.faults(text), self.root)
        self.assertEqual(len(str(refused.exception).splitlines()), 1)
        return str(refused.exception)

    def test_is_planted_with_a_switch_by_name_behind_the_guard_of_a_header(self):
        texts = planted.plant(self.faults(FAULT), self.root)
        self.assertEqual(texts["a.hpp"], '// A header.\n#pragma once\n#include <planted_faults.hpp>\n'
                         'bool f(int x, int y) { return planted::is_on("one") || x < y; }\n')
        self.assertIn(planted.SWITCH, texts[planted.HEADER])

    def test_two_faults_of_one_file_are_planted_together(self):
        second = FAULT.replace("[one]", "[two]").replace("x < y", "int y").replace("FAULT || int y", "int y = FAULT")
        text = planted.plant(self.faults(FAULT + second), self.root)["a.hpp"]
        self.assertIn('int y = planted::is_on("two")', text)
        self.assertIn('planted::is_on("one") || x < y', text)

    def test_a_fault_in_the_place_of_another_is_switched_by_its_own_name(self):
        pair = FAULT.replace("FAULT ||", "FAULT || FAULT[two] ||") + '[two]\nstands_for = "x"\nplanted_by = "one"\nprograms = ["unit"]\ntests = "u"\n'
        faults = self.faults(pair)
        self.assertIn('planted::is_on("one") || planted::is_on("two") || x < y', planted.plant(faults, self.root)["a.hpp"])
        self.assertEqual([each.name for each in planted.with_planters(faults[1:], faults)], ["one", "two"])

    def test_names_the_fault_that_no_longer_applies(self):
        self.assertRegex(self.refusal(FAULT.replace("x < y", "x > y")), r"fault one no longer applies: .*does not occur in a.hpp: x > y")
        self.assertRegex(self.refusal(FAULT.replace('find = "x < y"', 'find = "int"')), r"fault one no longer applies: .*occurs 2 times")
        self.assertRegex(self.refusal(FAULT.replace("a.hpp", "b.hpp")), r"fault one no longer applies: there is no b.hpp")

    def test_names_the_faults_that_change_the_same_place(self):
        self.assertIn("one and two change the same place of a.hpp", self.refusal(FAULT + FAULT.replace("[one]", "[two]")))

    def test_refuses_what_is_no_fault(self):
        for text, words in ((FAULT.replace("FAULT || ", ""), "fault one: no replacement depends on FAULT"),
                            (FAULT.replace('tests = "^unit"', ""), "fault one: the field 'tests' is missing"),
                            (FAULT.replace('"^unit"', '"("'), "fault one: '(' is no regular expression"),
                            (FAULT + "severity = 3\n", "fault one: unknown field 'severity'"),
                            (FAULT.replace("[one]", "[One]"), "fault 'One': names are"),
                            (FAULT + '[two]\nstands_for = "x"\nplanted_by = "one"\nprograms = ["u"]\ntests = "u"\n', "does not have FAULT[two]")):
            self.assertIn(words, self.refusal(text))


class TheCommand(unittest.TestCase):
    def call(self, *arguments):
        out, errors = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
            try:
                code = mutate.main(list(arguments))
            except SystemExit as end:
                code = end.code
        return code, out.getvalue(), errors.getvalue()

    def test_lists_and_checks(self):
        code, out, _ = self.call("--list", "--only", "tag-of-*")
        self.assertEqual((code, len(out.splitlines())), (0, 2))
        code, out, _ = self.call("--check")
        self.assertEqual(code, 0)
        self.assertIn("faults apply", out)

    def test_refuses_what_it_does_not_know_in_one_line(self):
        for arguments, word in ((["--only", "nothing-of-this-name"], "nothing-of-this-name"), (["--generated", "elsewhere"], "elsewhere"),
                                (["--report", "no-such-file"], "no-such-file")):
            code, _, errors = self.call(*arguments)
            self.assertEqual(code, 2)
            self.assertEqual(len(errors.splitlines()), 1, errors)
            self.assertIn(word, errors)

    def test_fails_for_a_survivor_that_is_not_known_and_names_it(self):
        rows = [{"fault": "one", "stands_for": "x", "caught_by": "unit: Test", "seconds": 1, "known": "", "is_judged": True},
                {"fault": "two", "stands_for": "x", "caught_by": None, "seconds": 1, "known": "", "is_judged": True},
                {"fault": "three", "stands_for": "x", "caught_by": None, "seconds": 1, "known": "why", "is_judged": True}]
        arguments = mutate.arguments_of([])
        for chosen, code in ((rows, 1), (rows[::2], 0)):
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                self.assertEqual(mutate.tell_planted(arguments, chosen), code)
            self.assertEqual("SURVIVED: two" in out.getvalue(), code == 1)
            self.assertIn("survived, as is known: why", out.getvalue())

    def test_fails_for_a_fault_that_could_not_be_judged_and_names_it(self):
        rows = [{"fault": "one", "stands_for": "x", "caught_by": None, "seconds": 0, "known": "", "is_judged": False}]
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            self.assertEqual(mutate.tell_planted(mutate.arguments_of([]), rows), 1)
        self.assertIn("NOT JUDGED: one", out.getvalue())
        self.assertNotIn("SURVIVED", out.getvalue())
        self.assertIn(mutate.NOT_JUDGED, mutate.page_of(rows))

    def test_reports_what_runs_over_mutants_have_kept(self):
        judged = [{"mutant": f"a.cpp#{number}", "outcome": outcome, "caught_by": "", "change": [f"a.cpp:{number}: x  ->  y"]}
                  for number, outcome in enumerate(["caught"] * 5 + ["survived"])]
        kept = [{"folder": "tcp", "sources": "src/network/tcp", "mutants": 99, "sample": 6, "seed": 1,
                 "left_out": {"does not compile": 2, "is the same program": 1, "does not link": 0}, "judged": judged}]
        with tempfile.TemporaryDirectory() as directory:
            (Path(directory) / "kept.json").write_text(json.dumps(kept))
            for bar, status in (("80", 0), ("85", 1)):
                code, out, _ = self.call("--report", f"{directory}/kept.json", "--markdown", f"{directory}/page.md", "--bar", bar)
                self.assertEqual(code, status)
                self.assertIn("tcp: 83 % of 6 mutants caught (3 left out)", out)
                self.assertIn("survived: a.cpp:5: x  ->  y", out)
            page = Path(directory) / "page.md"
            page.write_text(page.read_text() + "\n## What was done\n\nBy hand.\n")
            for _ in range(2):
                self.call("--report", f"{directory}/kept.json", "--markdown", str(page))
                self.assertTrue(page.read_text().endswith("`a.cpp:5: x  ->  y`\n\n## What was done\n\nBy hand.\n"), page.read_text())
            self.assertIn("| `src/network/tcp` | 99 | 6, 1 | 2, 1 | 5 | 1 | 0 | 83 % |", (Path(directory) / "page.md").read_text())


    def test_names_mutants_that_are_no_faults_and_leaves_them_out_of_the_share(self):
        (line, new), why = next(iter(generated.read_equivalents().items()))
        judged = [{"mutant": f"a.cpp#{number}", "outcome": "survived", "caught_by": "", "change": [change]}
                  for number, change in enumerate((f"src/a.cpp:7: {line}  ->  {new}", f"src/a.cpp:7: {line}  ->  other"))]
        summary = {"folder": "tcp", "judged": judged + [{"mutant": "a.cpp#9", "outcome": "caught", "caught_by": "x", "change": []}]}
        counted, same = generated.without_equivalents(summary, generated.read_equivalents())
        self.assertEqual([(each["mutant"], reason) for each, reason in same], [("a.cpp#0", why)])
        self.assertEqual(generated.share_of(counted), 50)

    def test_refuses_a_list_of_no_faults_that_gives_no_reason(self):
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "equivalent.toml"
            path.write_text('[[mutant]]\nfrom = "a"\nto = "b"\nwhy = " "\n')
            with self.assertRaisesRegex(scratch.ScratchError, "mutant 1 must have the texts from, to and why"):
                generated.read_equivalents(path)


class AGroupOfTests(unittest.TestCase):
    def run_shell(self, script, guard=30, **switches):
        return scratch.Group("unit", ["bash", "-c", script], {}, "/").run(guard, **switches)[0]

    def test_passes_or_says_what_failed_first(self):
        self.assertIsNone(self.run_shell("exit 0"))
        self.assertEqual(self.run_shell("echo '[ RUN      ] A.b'; echo '[  FAILED  ] A.b (3 ms)'; exit 1"), "unit: A.b")
        self.assertEqual(self.run_shell("echo '[ RUN      ] A.c'; kill -SEGV $$"), "unit: A.c (ended by signal 11)")
        self.assertEqual(self.run_shell("exit 3"), "unit: (exit status 3)")

    def test_that_hangs_is_ended_with_all_it_has_started(self):
        with tempfile.TemporaryDirectory() as directory:
            self.assertEqual(self.run_shell(f"echo '[ RUN      ] A.d'; (sleep 60; touch {directory}/late) & sleep 60", guard=1), "unit: A.d (hung)")
            self.assertEqual(list(Path(directory).iterdir()), [])

    def find(self, script, **guards):
        judge = scratch.Judge()
        for name, seconds in guards.items():
            setattr(judge, name, seconds)
        return judge.find([scratch.Group("unit", ["bash", "-c", script], {}, "/")], **{planted.SWITCH: "one"})[0]

    def test_that_fails_once_fails_of_the_machine_and_twice_of_the_fault(self):
        with tempfile.TemporaryDirectory() as directory:
            for script, caught in ((f"test -e {directory}/once || ! touch {directory}/once", None),
                                   (f'test -z "${planted.SWITCH}"', "unit: (exit status 1)")):
                self.assertEqual(self.find(script), caught)
            self.assertTrue((Path(directory) / "once").exists())

    def test_that_fails_without_the_fault_as_well_says_nothing_about_it(self):
        self.assertIsNone(self.find("exit 1"))
        self.assertIsNone(self.find("sleep 60", LEAST_GUARD=0.5, MOST_GUARD=0.5))

    def test_that_is_slow_in_the_same_conditions_does_not_hang(self):
        self.assertIsNone(self.find("sleep 1", LEAST_GUARD=0.2))
        self.assertEqual(self.find(f'test -z "${planted.SWITCH}" || sleep 60', LEAST_GUARD=0.5), "unit: (hung)")

    def test_is_compared_with_the_program_without_the_change_where_no_switch_makes_the_difference(self):
        judge = scratch.Judge()
        changed, as_it_was = (scratch.Group("unit", ["bash", "-c", f"exit {code}"], {}, "/") for code in (1, 0))
        self.assertEqual(judge.find([changed], {"unit": as_it_was})[0], "unit: (exit status 1)")
        self.assertIsNone(judge.find([changed], {"unit": changed})[0])

    def test_by_itself_is_the_one_that_failed(self):
        group = scratch.Group("unit", ["unit"], {}, "/", ["A.b", "A.c/d"])
        for failed, filters in (("unit: A.c/d", ["A.c/d"]), ("unit: A.b (hung)", ["A.b"]), ("unit: (hung)", ["A.b", "A.c/d"])):
            self.assertEqual(group.only(failed).filters, filters)

    def test_sees_the_switch(self):
        self.assertEqual(self.run_shell(f'test "${planted.SWITCH}" = one || exit 7', **{planted.SWITCH: "one"}), None)


if __name__ == "__main__":
    unittest.main()
