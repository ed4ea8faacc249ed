"""Instructions per message stay within the committed budgets (budgets.json); --table prints them all."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
# Enough for what start-up costs more in one run than in another to vanish.
MESSAGES = {"active_message": 16_000, "matched": 16_000, "one_sided": 160_000, "polling": 160_000,
            "streams": 16_000, "lci": 16_000, "mpi": 16_000}
# Bindings may be left out of a build (WEFT_BUILD_LCI, WEFT_BUILD_MPI).
OPTIONAL_PROGRAMS = {"lci", "mpi"}


def program(path):
    return os.path.join(os.environ["WEFTDEV_TEST_BIN_DIR"], f"{path['program']}_instructions")


def build(path):
    return subprocess.run([program(path), "build"], capture_output=True, text=True, check=True).stdout.strip()


def instructions(path, messages):
    with tempfile.TemporaryDirectory() as folder:
        # Pollers look at the clock now and then, by time: how often in so many polls depends on the machine, and on valgrind.
        result = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", program(path), path["name"], str(messages)],
                                capture_output=True, text=True, timeout=170, env={**os.environ, "WEFT_POLL_YIELD": "no"})
    if result.returncode != 0:
        raise AssertionError(f"valgrind ended with {result.returncode}:\n{result.stderr[-3000:]}")
    return int(re.search(r"Collected : (\d+)", result.stderr).group(1))


def per_message(path):
    """The difference of two runs takes out what starting and ending cost."""
    messages = MESSAGES[path["program"]]
    return (instructions(path, 2 * messages) - instructions(path, messages)) / messages


def load_budgets():
    with open(os.path.join(HERE, "budgets.json"), encoding="utf-8") as file:
        return json.load(file)


def most_of(path, budgets):
    """What was measured with some slack."""
    return path["measured"] * (1 + budgets["slack"])


def print_table():
    budgets = load_budgets()
    print(f"{'path':<24}{'now':>8}{'committed':>11}{'at most':>9}{'ever':>6}  what")
    for path in budgets["paths"]:
        ever = path.get("budget", "")
        print(f"{path['name']:<24}{per_message(path):>8.1f}{path['measured']:>11}{most_of(path, budgets):>9.0f}{ever:>6}  {path['what']}", flush=True)


@unittest.skipIf(os.environ.get("WEFTDEV_TEST_SANITIZER"), "sanitizers add instructions")
@unittest.skipUnless(shutil.which("valgrind"), "valgrind was not found")
class Instructions(unittest.TestCase):
    def test_no_path_costs_more_than_its_budget(self):
        budgets = load_budgets()
        if build(budgets["paths"][0]) != "optimised":
            self.skipTest("this build has assertions, which add instructions")
        for path in budgets["paths"]:
            with self.subTest(path["name"]):
                if path["program"] in OPTIONAL_PROGRAMS and not os.path.exists(program(path)):
                    self.skipTest(f"this build has no {program(path)}")
                now = per_message(path)
                print(f"{path['name']}: {now:.1f} instructions per message, {path['measured']} committed")
                self.assertLessEqual(now, most_of(path, budgets), path["name"])
                self.assertLessEqual(path["measured"], path.get("budget", path["measured"]), path["name"])
                [other] = [row for row in budgets["paths"] if row["name"] == path.get("no_more_than", path["name"])]
                # What is prepared looks at what was prepared.
                self.assertLessEqual(path["measured"], max(1.1 * other["measured"], other["measured"] + 10), path["name"])


if __name__ == "__main__":
    if sys.argv[1:] == ["--table"]:
        print_table()
    else:
        unittest.main()
