"""What has to be built for the tests that an expression names, so that one test does not wait for all programs.

what_to_build.py BUILD REGEX... prints targets, or nothing when everything is needed. Names of cases are known only once their program
is built, so a program is taken when every word of the expression stands somewhere in its sources: too much may be built, not too little.
"""

import json
import re
import sys
from pathlib import Path

CASE = re.compile(r"^\s*(?:TYPED_)?TEST(?:_[FP]|_SUITE)?\s*\(", re.MULTILINE)
INCLUDED = re.compile(r'^#include "(.*)"', re.MULTILINE)
WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{2,}")
OF_EVERY_NAME = "part full quick nightly"
OF_NETWORKS = "shm sim tcp ofi mixed apart together"  # with which names of conformance tests begin
PROGRAMS = ("weft-command", "weft-perf", "weft-study", "weft-kmer", "examples")
# Python tests that start nothing that is built.
ALONE = ("architecture/", "dev/", "mutation/")


def sources_of_tests(build):
    """The sources of each program of tests, by its target."""
    sources = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        if found := re.search(r" -o tests/CMakeFiles/([^/]+)\.dir/", entry["command"]):
            file = Path(entry["file"])
            together = INCLUDED.findall(file.read_text()) if file.parent.name == "Unity" else [file]
            sources.setdefault(found[1], []).extend(map(Path, together))
    return sources


def is_meant(expression, text):
    """Whether each word of one of the alternatives stands in the text."""
    return any(all(word in text for word in WORD.findall(alternative)) for alternative in expression.split("|"))


def targets(build, tests, expressions):
    sources = sources_of_tests(build)
    wanted = set()
    for target, files in sources.items():
        text = "\n".join(path.read_text(errors="replace") for path in files if path.exists())
        if not CASE.search(text):
            continue
        names = f"{target} {OF_EVERY_NAME} {OF_NETWORKS if 'conformance' in target else ''}"
        if any(is_meant(expression, f"{names}\n{text}") for expression in expressions):
            wanted.add(target)
    for path in tests.rglob("*_test.py"):
        name = path.relative_to(tests).with_suffix("").as_posix()
        if not any(re.search(expression, name) for expression in expressions) or name.startswith(ALONE):
            continue
        if name.startswith("install/"):
            return []
        if name.startswith("multiprocess/c_interface/"):  # few enough for a sanitizer
            wanted |= {"c-programs", "weft-command"}
            continue
        if name.startswith("multiprocess/lci/"):
            wanted.add("lci-programs")
        wanted |= set(PROGRAMS) | {target for target in sources if target.startswith("test-")}
    return sorted(wanted)


if __name__ == "__main__":
    try:
        print("\n".join(targets(Path(sys.argv[1]), Path(__file__).resolve().parents[1], sys.argv[2:])))
    except (OSError, ValueError, re.error):  # then everything is built, and ctest says what is wrong
        pass
