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
import tomllib
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
           "CollectiveStale*:VectoredSends*:Counters/*:Explain.*")
NETWORK_TESTS = [("unit-network", "*", {}), ("unit-clock", "*", {}), ("unit-wire", "*", {}), ("unit-barriers", "*", {}),
                 ("conformance-network", "*", OVER_TCP), ("conformance-operations", OPERATIONS, OVER_TCP)]
# The folders, and the tests that are theirs: programs, filters, settings.
FOLDERS = {
    "matching": ("src/core/matching", [("unit-core", "*", {}), ("conformance-operations", MATCHED, {}),
                                       ("concurrent", "MatchTable*:RecordPool*", {})]),
    "tcp": ("src/network/tcp", NETWORK_TESTS),
    "session": ("src/network/session", NETWORK_TESTS),
    "tasks": ("src/parcel/tasks", [("unit-parcel", "*", {}), ("unit-barriers", "*", {}),
                                   ("conformance-parcel", "*Waiting*:*BusyPeers*:BusyWorkers*:*Exceptions*", {}),
                                   ("concurrent", "DequeSchedules*:WaitState*", {})]),
}
# Why a mutant is left out.
REASONS = ["does not compile", "is the same program", "does not link"]


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
                return REASONS[0]
            if target.read_bytes() == compiled:
                return REASONS[1]
            if not self.ninja(*programs):
                return REASONS[2]
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
        usual, controls = {}, {}
        for group in groups_of(folder, place, environment):
            controls[group.label] = group
            failed = judge.measure(group)
            if failed is not None:
                raise ScratchError(f"without any mutant the tests fail: {failed}")
            usual[group.label] = judge.usual[group.key]
        progress = Progress(arguments.sample)
        progress.say(f"{folder}: {made} mutants of {FOLDERS[folder][0]}; the tests take {sum(usual.values()):.0f} s")

        def judged(mutant, built):
            groups = groups_of(folder, built, environment)
            judge.usual.update({group.key: usual[group.label] for group in groups})
            caught, mutant.seconds = judge.find(groups, controls)
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


def summary_of(folder, arguments, made, left_out, judged):
    """What is kept of a folder's run."""
    return {"folder": folder, "sources": FOLDERS[folder][0], "mutants": made, "sample": arguments.sample, "seed": arguments.seed,
            "left_out": {reason: sum(mutant.outcome == reason for mutant in left_out) for reason in REASONS},
            "judged": [{"mutant": each.name, "outcome": each.outcome, "caught_by": each.caught_by, "change": each.difference()}
                       for each in judged]}


def survivors_of(summary):
    return [each for each in summary["judged"] if each["outcome"] == "survived"]


def read_equivalents(path=Path(__file__).with_name("equivalent.toml")):
    """Reasons by change, as (line, new line), of mutants that do what the program does."""
    with open(path, "rb") as file:
        try:
            entries = tomllib.load(file).get("mutant", [])
        except tomllib.TOMLDecodeError as error:
            raise ScratchError(f"{path.name}: {error}") from None
    for number, entry in enumerate(entries, 1):
        if set(entry) != {"from", "to", "why"} or not all(isinstance(each, str) and each.strip() for each in entry.values()):
            raise ScratchError(f"{path.name}: mutant {number} must have the texts from, to and why, and nothing else")
    return {(entry["from"], entry["to"]): entry["why"] for entry in entries}


def equivalence_of(mutant, equivalents):
    """Why a survivor is no fault, or None."""
    if len(mutant["change"]) != 1:
        return None
    found = re.fullmatch(r"\S+:\d+: (.*)  ->  (.*)", mutant["change"][0])
    return equivalents.get((found[1], found[2])) if found else None


def without_equivalents(summary, equivalents):
    """The summary without mutants that are no faults, and these, each with its reason."""
    same = [(each, why) for each in survivors_of(summary) if (why := equivalence_of(each, equivalents)) is not None]
    names = {each["mutant"] for each, _ in same}
    return {**summary, "judged": [each for each in summary["judged"] if each["mutant"] not in names]}, same


def share_of(summary):
    return 100 - 100 * len(survivors_of(summary)) / max(len(summary["judged"]), 1)


def notes_of(page):
    """What somebody has written below the list of survivors: from the next heading on."""
    found = re.search(r"^## (?!Survivors$)", page, re.M)
    return "\n" + page[found.start():].rstrip() + "\n" if found else ""


def page_of(all_summaries, notes=""):
    equivalents = read_equivalents()
    summaries, same = zip(*(without_equivalents(each, equivalents) for each in all_summaries))
    lines = ["# Mutants of four folders", "", f"Written by `./dev mutate`, whose faults {TOOL} has made here; a line of the table by",
             "`./dev mutate --generated FOLDER --sample N --seed S --json FILE`, the page by `./dev mutate --report FILES --markdown mutants.md`.",
             "The sample is drawn from all mutants of the folder's sources; those that do not compile, and those that are the same program (the",
             "same object file), are left out, and others drawn for them. Each was judged by the folder's unit and conformance tests, which",
             "`tests/mutation/generated.py` names. A sample is small: of 15 mutants, 85 in 100 may be 65 to 95 of all. Survivors that are no",
             "faults are named below with the reasons (`tests/mutation/equivalent.toml`), and are not in the share.", "",
             "| folder | mutants | judged, seed | left out: do not compile, same program | caught | survived | no faults | share |",
             "|---|---|---|---|---|---|---|---|"]
    for each, equal in zip(summaries, same):
        survived = len(survivors_of(each))
        lines.append(f"| `{each['sources']}` | {each['mutants']} | {len(each['judged'])}, {each['seed']} | "
                     f"{each['left_out'][REASONS[0]]}, {each['left_out'][REASONS[1]]} | {len(each['judged']) - survived} | {survived} | {len(equal)} | "
                     f"{share_of(each):.0f} % |")
    lines += ["", "## Survivors", ""]
    lines += [f"- `{text}`" for each in summaries for mutant in survivors_of(each) for text in mutant["change"]]
    if any(same):
        lines += ["", "### No faults", ""]
        lines += [f"- `{text}`: {why}" for equal in same for mutant, why in equal for text in mutant["change"]]
    return "\n".join(lines) + "\n" + notes


def tell(summaries, arguments):
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(summaries, indent=1) + "\n")
    if arguments.markdown:
        page = Path(arguments.markdown)
        page.write_text(page_of(summaries, notes_of(page.read_text()) if page.is_file() else ""))
    equivalents = read_equivalents()
    judged = []
    for summary in summaries:
        each, same = without_equivalents(summary, equivalents)
        judged.append(each)
        print(f"mutate: {each['folder']}: {share_of(each):.0f} % of {len(each['judged'])} mutants caught ({sum(each['left_out'].values())} left out)")
        for mutant in survivors_of(each):
            print("  survived: " + " | ".join(mutant["change"]))
        for mutant, why in same:
            print("  no fault: " + " | ".join(mutant["change"]) + f" ({why})")
    below = [each["folder"] for each in judged if share_of(each) < arguments.bar]
    if below:
        print(f"mutate: less than {arguments.bar:g} % caught in: {' '.join(below)}")
    return 1 if below else 0


def report(arguments):
    """Tells, and writes, what earlier runs have kept."""
    try:
        return tell([each for name in arguments.report.split(",") for each in json.loads(Path(name).read_text())], arguments)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ScratchError(f"--report {arguments.report}: it must name files that --generated ... --json has written: {error}") from None


def run(arguments):
    names = list(FOLDERS) if arguments.generated == "all" else arguments.generated.split(",")
    for name in names:
        if name not in FOLDERS:
            raise ScratchError(f"--generated {name}: there is no such folder (one of: all {' '.join(FOLDERS)})")
    program = mutator()
    scratch = Scratch(arguments.scratch or ROOT / "build" / "mutation" / "generated", arguments.jobs, "by_files")
    scratch.copy()
    environment = {"CCACHE_DISABLE": "1", "WEFTDEV_BIN_DIR": str(scratch.build / "bin"), "WEFTDEV_TEST_BIN_DIR": str(scratch.build / "bin" / "tests"),
                   "WEFTDEV_SOURCE_DIR": str(scratch.folder)}
    return tell([summary_of(name, arguments, *judge_folder(name, arguments, scratch, environment, program)) for name in names], arguments)
