"""A copy of the tree, built aside, and its tests, run with a guard against hangs."""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class ScratchError(Exception):
    """The copy could not be made, built or tested as it is."""


def tracked_files(root):
    """What belongs to the tree, as names relative to it."""
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "-z", "-co", "--exclude-standard"], capture_output=True, check=False)
    if listed.returncode == 0:
        return [name for name in os.fsdecode(listed.stdout).split("\0") if name and (root / name).is_file()]
    return [str(path.relative_to(root)) for path in root.rglob("*")
            if path.is_file() and path.relative_to(root).parts[0] not in ("build", ".git")]


class Scratch:
    """`compiled`: by_folders, which builds everything soonest, or by_files, where single files change again and again."""

    def __init__(self, folder, jobs, compiled):
        self.unity = {"by_folders": "-DWEFT_UNITY=ON", "by_files": "-DWEFT_UNITY=OFF"}[compiled]
        self.folder = Path(folder).resolve()
        self.build = self.folder / "build" / "release"
        self.jobs = jobs
        self._tests = None

    def copy(self, texts=None):
        """Makes the copy like the tree, but for `texts` by name. What is the same already is not touched: nothing is built again
        for it."""
        texts = texts or {}
        names = set(tracked_files(ROOT)) | set(texts)
        for name in names:
            wanted = texts[name].encode() if name in texts else (ROOT / name).read_bytes()
            path = self.folder / name
            if path.is_file() and path.read_bytes() == wanted:
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(wanted)
            if name not in texts:
                shutil.copymode(ROOT / name, path)
        for path in list(self.folder.rglob("*")):
            inside = path.relative_to(self.folder)
            if path.is_file() and inside.parts[0] not in ("build", ".git") and "__pycache__" not in inside.parts and str(inside) not in names:
                path.unlink()

    def _call(self, command, what, **options):
        result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False, **options)
        if result.returncode != 0:
            errors = [line for line in result.stdout.splitlines() if re.search(r"error|FAILED", line)]
            raise ScratchError(f"{what} failed:\n" + "\n".join((errors or result.stdout.splitlines())[-20:]))
        return result.stdout

    def make(self, targets):
        """Configures, at first, and builds the targets."""
        environment = dict(os.environ, CCACHE_BASEDIR=str(self.folder))
        if not (self.build / "build.ninja").is_file():
            launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
            # Faulty code may earn warnings, and need not be fast.
            self._call(["cmake", "--preset", "release", "-DWEFT_WERROR=OFF", self.unity, "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG", *launcher],
                       "configuring the copy", cwd=self.folder, env=environment)
        self._call(["cmake", "--build", str(self.build), "-j", str(self.jobs), "--target", *targets], "building the copy",
                   env=environment)
        self._tests = None

    def tests(self):
        """All tests that ctest knows, as (name, command, environment, folder)."""
        if self._tests is None:
            shown = json.loads(self._call(["ctest", "--test-dir", str(self.build), "--show-only=json-v1"], "asking for the tests"))
            self._tests = []
            for test in shown["tests"]:
                properties = {each["name"]: each["value"] for each in test.get("properties", [])}
                if "command" not in test or test["name"].endswith("_NOT_BUILT"):
                    continue
                environment = dict(each.split("=", 1) for each in properties.get("ENVIRONMENT", []))
                self._tests.append((test["name"], test["command"], environment, properties.get("WORKING_DIRECTORY", str(self.build))))
        return self._tests

    def groups(self, pattern):
        """The tests whose names match, those of one program together."""
        groups = {}
        for name, command, environment, folder in self.tests():
            if not pattern.search(name) or ".part." in name:
                continue
            filters = [word for word in command if word.startswith("--gtest_filter=")]
            single = len(filters) == 1 and "GTEST_TOTAL_SHARDS" not in environment
            key = (command[0], tuple(sorted(environment.items()))) if single else (name,)
            if single and key in groups:
                groups[key].filters.append(filters[0].split("=", 1)[1])
            elif single:
                groups[key] = Group(name.rsplit(".", 2)[0], [command[0]], environment, folder, [filters[0].split("=", 1)[1]])
            else:
                groups[key] = Group(name, command, environment, folder)
        return list(groups.values())


@dataclass
class Group:
    """Tests that one process runs."""
    label: str
    command: list
    environment: dict
    folder: str
    filters: list = field(default_factory=list)

    @property
    def key(self):
        return (self.label, tuple(self.command), tuple(self.filters))

    def run(self, guard, **switches):
        """Returns (None, or what failed, and the seconds that it took)."""
        environment = {**os.environ, **self.environment, "GTEST_FAIL_FAST": "1", "GTEST_BRIEF": "0", **switches}
        environment.pop("WEFTDEV_NIGHTLY", None)  # soaks skip themselves
        command = list(self.command)
        with tempfile.TemporaryDirectory() as directory, open(Path(directory) / "output", "w+", errors="replace") as output:
            if self.filters:
                (Path(directory) / "flags").write_text("--gtest_filter=" + ":".join(self.filters) + "\n")
                command.append(f"--gtest_flagfile={directory}/flags")
            begun = time.monotonic()
            process = subprocess.Popen(command, cwd=self.folder, env=environment, stdout=output, stderr=subprocess.STDOUT,
                                       stdin=subprocess.DEVNULL, start_new_session=True)
            try:
                code = process.wait(guard)
            except subprocess.TimeoutExpired:
                code = None
            try:
                os.killpg(process.pid, signal.SIGKILL)  # also what a test has left behind
            except ProcessLookupError:
                pass
            process.wait()
            seconds = time.monotonic() - begun
            output.seek(0)
            said = output.read()
        return (None if code == 0 else self._what_failed(code, said)), seconds

    def only(self, failed):
        """The group of the one test that `failed` names; this group where it names none."""
        begun = re.search(r": ([^\s(]\S*)(?: \(.*\))?$", failed)
        return replace(self, filters=[begun[1]]) if begun and self.filters else self

    def _what_failed(self, code, said):
        failed = re.findall(r"^\[  FAILED  \] (\S+?),?(?: |$)", said, re.M) or re.findall(r"^(?:FAIL|ERROR): (\S+)", said, re.M)
        if code == 0 or (failed and code is not None):
            return f"{self.label}: {failed[0]}"
        begun = re.findall(r"^\[ RUN      \] (\S+)", said, re.M)
        how = "hung" if code is None else f"ended by signal {-code}" if code < 0 else f"exit status {code}"
        return f"{self.label}: {begun[-1] + ' ' if begun else ''}({how})"


class Judge:
    """Runs groups of tests, first as they are, then with a change: which group, if any, tells the difference?"""

    LEAST_GUARD = 30  # seconds
    MOST_GUARD = 300  # of a run without a change

    def __init__(self):
        self.usual = {}

    def guard_of(self, seconds):
        """How long tests may take that have taken so long without a change."""
        return max(self.LEAST_GUARD, 6 * seconds)

    def measure(self, group):
        """The group must pass as it is. Returns what failed, or None."""
        if group.key in self.usual:
            return None
        failed = None
        for _ in range(2):  # a busy machine may fail a test once
            failed, seconds = group.run(self.MOST_GUARD)
            if failed is None:
                self.usual[group.key] = seconds
                return None
        return failed

    def find(self, groups, controls=None, **switches):
        """Returns (what has failed first, or None; seconds). `controls`: by label, the groups without the change, where no switch makes
        the difference."""
        total = 0.0
        for group in sorted(groups, key=lambda each: self.usual.get(each.key, 0)):
            failed, seconds = group.run(self.guard_of(self.usual.get(group.key, 0)), **switches)
            total += seconds
            if failed is not None:
                failed, seconds = self._confirmed(failed, group, (controls or {}).get(group.label, group), switches)
                total += seconds
            if failed is not None:
                return failed, total
        return None, total

    def _confirmed(self, failed, group, control, switches):
        """A busy machine may fail a test, or make it so slow that it seems to hang: only what passes without the change, and fails once
        more with it at once afterwards, within a limit that the first of the two gives, counts."""
        total = 0.0
        for again, without in ((group.only(failed), control.only(failed)), (group, control)):
            of_the_machine, usual = without.run(self.MOST_GUARD)
            total += usual
            if of_the_machine is not None:
                continue
            confirmed, seconds = again.run(self.guard_of(usual), **switches)
            total += seconds
            if confirmed is not None:
                return (confirmed if failed.endswith("(hung)") else failed), total
        return None, total
