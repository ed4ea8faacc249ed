"""Every function of weft.h answers a wrong handle, a null pointer, a struct of an impossible size and a second thread by an error that
names function and argument."""

import os
import subprocess
import sys
import unittest
from pathlib import Path

import c_headers
from weft_job import environment

BINARIES = Path(os.environ["WEFTDEV_BIN_DIR"])
# What functions answer that return no weft_result.
NOTHING = {"size_t": "0", "uint64_t": "0", "weft_remote": "0", "uint32_t": "4294967295", "weft_operation": "255", "weft_stream_address": "(-1, 4294967295)"}


def sanitized():
    """The variables with which a Python that knows of no sanitizer loads a library that has one; what Python leaks is not looked at."""
    if os.environ.get("WEFTDEV_TEST_SANITIZER") != "asan":
        return {}
    libraries = [subprocess.run(["g++", f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout.strip()
                 for name in ("libasan.so", "libstdc++.so")]  # the second one for exceptions, which the first one watches
    return {"LD_PRELOAD": " ".join(libraries), "ASAN_OPTIONS": "detect_leaks=0"}


class EveryFunction(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        library = next(BINARIES.parent.glob("lib/libweft-c.so"))
        script = Path(__file__).with_name("wrong_calls.py")
        cls.result = subprocess.run([sys.executable, str(script), str(library)], capture_output=True, text=True, timeout=120, env=environment(**sanitized()))
        cls.lines = [line.split("\t") for line in cls.result.stdout.splitlines()]

    def test_no_call_ends_the_process(self):
        self.assertEqual(self.result.stdout.splitlines()[-1:], ["all functions were called"], self.result.stderr)
        self.assertEqual(self.result.returncode, 0, self.result.stderr)

    def test_each_answer_is_an_error(self):
        for what, function, argument, kind, answer, text in self.lines[:-1]:
            with self.subTest(what, function=function, argument=argument):
                if kind.endswith("*"):
                    self.assertEqual(answer, "None", text)
                elif function == "weft_message_peer":
                    self.assertEqual(answer, "-1")
                elif kind in NOTHING:
                    self.assertIn(answer, NOTHING[kind], text)
                else:
                    self.assertLess(int(answer), 0, text)

    def test_each_line_names_the_function_and_the_argument(self):
        for what, function, argument, _, _, text in self.lines[:-1]:
            with self.subTest(what, function=function, argument=argument):
                self.assertTrue(text.startswith(f"{function}: "), text)
                if what == "a second thread in a stream":
                    self.assertRegex(text, r"stream \d+: thread .* enters while thread .* is inside")
                elif what != "after the end":
                    self.assertRegex(text, rf"\b{argument}\b")

    def test_every_function_with_a_handle_is_among_them(self):
        called = {function for _, function, *_ in self.lines[:-1]}
        handles = tuple(f"{name}*" for name in c_headers.handles())
        expected = {function.name for function in c_headers.functions() if any(each.type.endswith(handles) for each in function.parameters)}
        self.assertEqual(expected - called, {"weft_abort"})


if __name__ == "__main__":
    unittest.main()
