"""Instructions per 8-byte active message stay within the committed budgets (budgets.json)."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(os.environ["WEFT_TEST_BIN_DIR"], "active_message_instructions")
MESSAGES = 20_000


def build():
    return subprocess.run([PROGRAM, "build"], capture_output=True, text=True, check=True).stdout.strip()


def instructions(path, messages):
    with tempfile.TemporaryDirectory() as folder:
        result = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", PROGRAM, path, str(messages)],
                                capture_output=True, text=True, timeout=170)
    if result.returncode != 0:
        raise AssertionError(f"valgrind ended with {result.returncode}:\n{result.stderr[-3000:]}")
    return int(re.search(r"Collected : (\d+)", result.stderr).group(1))


@unittest.skipIf(os.environ.get("WEFT_TEST_SANITIZER"), "sanitizers add instructions")
@unittest.skipUnless(shutil.which("valgrind"), "valgrind was not found")
class Instructions(unittest.TestCase):
    def test_no_path_costs_more_than_its_budget(self):
        if build() != "optimised":
            self.skipTest("this build has assertions, which add instructions")
        with open(os.path.join(HERE, "budgets.json"), encoding="utf-8") as file:
            budgets = json.load(file)
        for path in budgets["paths"]:
            with self.subTest(path["name"]):
                # The difference takes out what starting and ending cost.
                per_message = (instructions(path["name"], 2 * MESSAGES) - instructions(path["name"], MESSAGES)) / MESSAGES
                print(f"{path['name']}: {per_message:.1f} instructions per message, {path['measured']} committed")
                self.assertLessEqual(per_message, path["measured"] * (1 + budgets["slack"]), path["name"])
                self.assertLessEqual(path["measured"], path.get("budget", path["measured"]), path["name"])


if __name__ == "__main__":
    unittest.main()
