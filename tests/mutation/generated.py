"""Mutants that universalmutator makes of the sources of a folder: which of them do the folder's unit and conformance tests catch?

A sample is drawn by a seed. A mutant that does not compile is left out, and so is one whose object file is that of the original: it is
no other program. Sources alone are changed: what a header says is compiled into dozens of objects; templates in headers have planted
faults (planted.py) and schedules of their own."""

import difflib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from progress import Progress
from scratch import ROOT, Group, Judge, Scratch, ScratchError

TOOL = "universalmutator==1.14.1"
OVER_TCP = {"WEFT_NETWORK": "tcp"}
OPERATIONS = ("ActiveMessage*:over/ActiveMessages*:SendReceive/*:Drained*:FlowControl*:Ordered/*:LocalCompletion*:Ending*:Packets*:Handles*:"
              "Leaving*:over/OneSided.*:over/Atomics*")
MATCHED = ("SendReceive*:Ordered*:Matching*:Probing*:CountedReceives*:UnexpectedSends*:Algorithm*:OrderedTagMask*:Classes*:"
           "CollectiveStale*:VectoredSends*:Counters/*")
NETWORK_TESTS = [("unit-network", "*", {}), ("conformance-network", "*", OVER_TCP), ("conformance-operations", OPERATIONS, OVER_TCP)]
# The folders, and the tests that are theirs: programs, filters, settings.
FOLDERS = {
    "matching": ("src/core/matching", [("unit-core", "*", {}), ("conformance-operations", MATCHED, {}),
                                       ("concurrent", "MatchTable*:RecordPool*", {})]),
    "tcp": ("src/network/tcp", NETWORK_TESTS),
    "session": ("src/network/session", NETWORK_TESTS),
    "tasks": ("src/parcel/tasks", [("unit-parcel", "*", {}), ("conformance-parcel", "*Waiting*:*BusyPeers*:BusyWorkers*:*Exceptions*", {}),
                                   ("concurrent", "DequeSchedules*:WaitState*", {})]),
}


@dataclass
class Mutant:
    folder: str
    source: str  # relative to the tree
    number: int
    text: str
    outcome: str = ""  # caught, survived, or why it was left out
    caught_by: str = ""
    seconds: float = 0

    @property
    def name(self):
        return f"{self.source}#{self.number}"

    def difference(self):
        original = (ROOT / self.source).read_text().splitlines()
        changed = [(tag, a, b, self.text.splitlines()[c:d]) for tag, a, b, c, d in
                   difflib.SequenceMatcher(None, original, self.text.splitlines(), autojunk=False).get_opcodes() if tag != "equal"]
        return [f"{self.source}:{a + 1}: {' '.join(line.strip() for line in original[a:b])}  ->  {' '.join(line.strip() for line in new)}"
                for _, a, b, new in changed]


def mutator():
    """The program that makes mutants, installed into the build folder where there is none."""
    found = shutil.which("mutate")
    if found and "universal" in Path(found).read_text(errors="replace"):
        return found
    folder = ROOT / "build" / "mutation" / "universalmutator"
    if not (folder / "bin" / "mutate").is_file():
        for command in ([sys.executable, "-m", "venv", str(folder)], [str(folder / "bin" / "pip"), "install", "-q", TOOL]):
            result = subprocess.run(command, capture_output=True, text=True, check=False)
            if result.returncode != 0:
                raise ScratchError(f"{TOOL} cannot be installed: {(result.stderr or result.stdout).strip().splitlines()[-1]}")
    return str(folder / "bin" / "mutate")


def mutants_of(folder, program):
    """All mutants of a folder's sources, in an order of their own."""
    mutants = []
    for path in sorted((ROOT / FOLDERS[folder][0]).rglob("*.cpp")):
        with tempfile.TemporaryDirectory() as made:
            result = subprocess.run([program, str(path), "cpp", "--noCheck", "--mutantDir", made], capture_output=True, text=True, check=False)
            files = sorted(Path(made).glob("*.mutant.*.cpp"), key=lambda each: int(each.name.split(".")[-2]))
            if not files:
                raise ScratchError(f"universalmutator makes nothing of {path}: {result.stdout[-300:]}{result.stderr[-300:]}")
            mutants += [Mutant(folder, str(path.relative_to(ROOT)), int(each.name.split(".")[-2]), each.read_text()) for each in files]
    return mutants


class Workshop:
    """The copy of the tree in which one mutant at a time is compiled and linked."""

    def __init__(self, scratch):
        self.scratch = scratch
        commands = json.loads((scratch.build / "compile_commands.json").read_text())
        self.objects = {str(Path(each["file"]).relative_to(scratch.folder)): each["output"] if "output" in each else
                        re.search(r" -o (\S+)", each["command"])[1] for each in commands if Path(each["file"]).is_relative_to(scratch.folder)}

    def ninja(self, *targets):
        return subprocess.run(["ninja", "-C", str(self.scratch.build), *targets], capture_output=True, text=True, check=False).returncode == 0

    def make(self, mutant, programs, place):
        """Compiles and links; copies of the programs lie in `place` afterwards. Returns why the mutant is left out, or nothing."""
        source = self.scratch.folder / mutant.source
        target = self.scratch.build / self.objects[mutant.source]
        original, stat, compiled = source.read_bytes(), source.stat(), target.read_bytes()
        try:
            source.write_text(mutant.text)
            if not self.ninja(self.objects[mutant.source]):
                return "does not compile"
            if target.read_bytes() == compiled:
                return "is the same program"
            if not self.ninja(*programs):
                return "does not link"
            for program in programs:
                shutil.copy2(self.scratch.build / "bin" / "tests" / program, place / program)
            return ""
        finally:
            # As it was, and not to be compiled again: the source with its time, the object newer than that.
            source.write_bytes(original)
            os.utime(source, ns=(stat.st_atime_ns, stat.st_mtime_ns))
            target.write_bytes(compiled)


def groups_of(folder, place, environment):
    return [Group(f"{'tcp.' if settings else ''}{program}", [str(place / program)], {**environment, **settings}, str(place), [filters + ":-*Soak*"])
            for program, filters, settings in FOLDERS[folder][1]]


def judge_folder(folder, arguments, scratch, environment, program):
    """The judged mutants of a folder's sample, and how many were drawn for them."""
    programs = list(dict.fromkeys(name for name, _, _ in FOLDERS[folder][1]))
    scratch.make(programs)
    workshop = Workshop(scratch)
    mutants = [each for each in mutants_of(folder, program) if each.source in workshop.objects]
    made = len(mutants)
    random.Random(f"{arguments.seed} {folder}").shuffle(mutants)
    judge = Judge()
    with tempfile.TemporaryDirectory(dir=scratch.folder / "build") as directory:
        place = Path(directory) / "original"
        place.mkdir()
        for name in programs:
            shutil.copy2(scratch.build / "bin" / "tests" / name, place / name)
        usual = {}
        for group in groups_of(folder, place, environment):
            failed = judge.measure(group)
            if failed is not None:
                raise ScratchError(f"without any mutant the tests fail: {failed}")
            usual[group.label] = judge.usual[group.key]
        progress = Progress(arguments.sample)
        progress.say(f"{folder}: {made} mutants of {FOLDERS[folder][0]}; the tests take {sum(usual.values()):.0f} s")

        def judged(mutant, built):
            groups = groups_of(folder, built, environment)
            judge.usual.update({group.key: usual[group.label] for group in groups})
            caught, mutant.seconds = judge.find(groups)
            mutant.outcome, mutant.caught_by = ("caught", caught) if caught else ("survived", "")
            shutil.rmtree(built)
            progress.step(f"{mutant.name}: {caught or 'SURVIVED ' + ' | '.join(mutant.difference())}")

        left_out, under_way = [], []
        with ThreadPoolExecutor(arguments.jobs) as pool:
            for number, mutant in enumerate(mutants):
                if len(under_way) == arguments.sample:
                    break
                built = Path(directory) / str(number)
                built.mkdir()
                mutant.outcome = workshop.make(mutant, programs, built)
                if mutant.outcome:
                    left_out.append(mutant)
                    shutil.rmtree(built)
                    continue
                under_way.append((mutant, pool.submit(judged, mutant, built)))
            for _, future in under_way:
                future.result()
    scratch.make(programs)
    return made, left_out, [mutant for mutant, _ in under_way]


def share_of(mutants):
    return 100 * sum(mutant.outcome == "caught" for mutant in mutants) / max(len(mutants), 1)


def page_of(outcomes, arguments):
    names = ",".join(outcomes)
    lines = ["# Mutants of four folders", "", f"Written by `./dev mutate --generated {names} --sample {arguments.sample} --seed {arguments.seed} "
             f"--markdown FILE`, with {TOOL}. The sample is drawn from all mutants of the folder's sources; mutants that do not compile or",
             "that are the same program (the same object file) are left out and others drawn for them. Each was judged by the folder's unit and",
             "conformance tests (`tests/mutation/generated.py` names them). A sample of 30 tells the share within about 7 in 100 either way.", "",
             "| folder | mutants | judged | left out: do not compile, same program | caught | survived | share |", "|---|---|---|---|---|---|---|"]
    for folder, (made, left_out, judged) in outcomes.items():
        caught = sum(mutant.outcome == "caught" for mutant in judged)
        same = sum(mutant.outcome == "is the same program" for mutant in left_out)
        lines.append(f"| `{FOLDERS[folder][0]}` | {made} | {len(judged)} | {len(left_out) - same}, {same} | {caught} | {len(judged) - caught} | "
                     f"{share_of(judged):.0f} % |")
    lines += ["", "## Survivors", ""]
    for _, _, judged in outcomes.values():
        lines += [f"- `{text}`" for mutant in judged if mutant.outcome == "survived" for text in mutant.difference()]
    return "\n".join(lines) + "\n"


def run(arguments):
    names = list(FOLDERS) if arguments.generated == "all" else arguments.generated.split(",")
    for name in names:
        if name not in FOLDERS:
            raise ScratchError(f"--generated {name}: there is no such folder (one of: all {' '.join(FOLDERS)})")
    program = mutator()
    scratch = Scratch(arguments.scratch or ROOT / "build" / "mutation" / "generated", arguments.jobs)
    scratch.copy()
    environment = {"CCACHE_DISABLE": "1", "WEFTDEV_BIN_DIR": str(scratch.build / "bin"), "WEFTDEV_TEST_BIN_DIR": str(scratch.build / "bin" / "tests"),
                   "WEFTDEV_SOURCE_DIR": str(scratch.folder)}
    outcomes = {name: judge_folder(name, arguments, scratch, environment, program) for name in names}
    if arguments.json:
        rows = [{"folder": each.folder, "mutant": each.name, "change": each.difference(), "outcome": each.outcome, "caught_by": each.caught_by}
                for made, left_out, judged in outcomes.values() for each in left_out + judged]
        Path(arguments.json).write_text(json.dumps(rows, indent=1) + "\n")
    if arguments.markdown:
        Path(arguments.markdown).write_text(page_of(outcomes, arguments))
    below = []
    for name, (_, left_out, judged) in outcomes.items():
        print(f"mutate: {name}: {share_of(judged):.0f} % of {len(judged)} mutants caught ({len(left_out)} left out)")
        for mutant in judged:
            if mutant.outcome == "survived":
                print("  survived: " + " | ".join(mutant.difference()))
        if share_of(judged) < arguments.bar:
            below.append(name)
    if below:
        print(f"mutate: less than {arguments.bar:g} % caught in: {' '.join(below)}")
    return 1 if below else 0
