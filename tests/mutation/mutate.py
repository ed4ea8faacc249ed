#!/usr/bin/env python3
"""Plants faults in a copy of the tree, and shows which tests catch them: the entry behind ./dev mutate."""

import argparse
import fnmatch
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import generated
import planted
from progress import Progress
from scratch import ROOT, Judge, Scratch, ScratchError

DESCRIPTION = """Plants faults in a copy of the tree, and shows which tests catch them. All faults of tests/mutation/faults/ are compiled
into one build, and switched on one at a time by an environment variable; the tests must pass while none is. Ends with a table, and with
status 1 when a fault lives that the list does not call known. With --generated, universalmutator makes the faults instead."""


NOT_JUDGED = "not judged: it has no tests, or these fail without any fault"


def arguments_of(command_line):
    parser = argparse.ArgumentParser(prog="./dev mutate", usage="./dev mutate [options]", description=DESCRIPTION)
    parser.add_argument("--list", action="store_true", help="print the faults, and do nothing else")
    parser.add_argument("--check", action="store_true", help="only say whether every fault still applies to the tree")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="only this fault; with * many; may be repeated")
    parser.add_argument("--json", metavar="FILE", help="write the outcome there, too")
    parser.add_argument("--markdown", metavar="FILE", help="write the outcome as a page of the documents, too")
    parser.add_argument("--scratch", metavar="FOLDER", help="where the copy is made and kept (build/mutation/...)")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count(), metavar="N", help="at a time (number of processors)")
    parser.add_argument("--generated", metavar="FOLDERS", help="mutants made by universalmutator in these folders, with commas between "
                        f"them ({','.join(generated.FOLDERS)}; all)")
    parser.add_argument("--sample", type=int, default=30, metavar="N", help="so many mutants that compile in each folder (30)")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="of the sample (1)")
    parser.add_argument("--report", metavar="FILES", help="tell, or write by --markdown, what --generated ... --json has kept in these files")
    parser.add_argument("--bar", type=float, default=85, metavar="PERCENT", help="fail when less is caught in a folder (85)")
    arguments = parser.parse_args(command_line)
    if arguments.jobs is None or arguments.jobs < 1:
        parser.error(f"--jobs is {arguments.jobs}; it must be 1 or more")
    if arguments.sample < 1:
        parser.error(f"--sample is {arguments.sample}; it must be 1 or more")
    return arguments


def chosen_of(faults, patterns):
    if not patterns:
        return faults
    for pattern in patterns:
        if not any(fnmatch.fnmatchcase(fault.name, pattern) for fault in faults):
            raise planted.PlantingError(f"--only {pattern}: there is no such fault (./dev mutate --list prints them)")
    return [fault for fault in faults if any(fnmatch.fnmatchcase(fault.name, pattern) for pattern in patterns)]


def measured_groups(scratch, judge, faults, progress):
    """The groups of tests of each fault that pass while no fault is switched on."""
    groups = {fault.name: scratch.groups(fault.tests) for fault in faults}
    for fault in faults:
        if not groups[fault.name]:
            progress.say(f"fault {fault.name}: no test is called '{fault.tests.pattern}'")
    seen = {group.key: group for each in groups.values() for group in each}
    with ThreadPoolExecutor(scratch.jobs) as pool:
        for group, failed in zip(seen.values(), pool.map(judge.measure, seen.values())):
            progress.say(f"fails without any fault: {failed}" if failed is not None else
                         f"passes without faults: {group.label} ({judge.usual[group.key]:.1f} s)")
    return {name: [group for group in each if group.key in judge.usual] for name, each in groups.items()}


def run_planted(arguments, faults, all_faults):
    texts = planted.plant(planted.with_planters(faults, all_faults), ROOT)
    scratch = Scratch(arguments.scratch or ROOT / "build" / "mutation" / "planted", arguments.jobs, "by_folders")
    progress = Progress(len(faults))
    progress.say(f"{len(faults)} faults in {len(texts) - 1} files; the copy is {scratch.folder}")
    scratch.copy(texts)
    scratch.make(sorted({program for fault in faults for program in fault.programs}))
    judge = Judge()
    groups = measured_groups(scratch, judge, faults, progress)

    def judged(fault):
        caught, seconds = judge.find(groups[fault.name], **{planted.SWITCH: fault.name})
        is_judged = bool(groups[fault.name])
        progress.step(f"{fault.name}: {'caught' if caught else 'SURVIVED' if is_judged else 'NOT JUDGED'}")
        return {"fault": fault.name, "stands_for": fault.stands_for, "caught_by": caught, "seconds": round(seconds, 1), "known": fault.known,
                "is_judged": is_judged}

    with ThreadPoolExecutor(arguments.jobs) as pool:
        return list(pool.map(judged, faults))


def table_of(rows):
    lines = [("fault", "stands for", "caught by", "seconds")]
    for row in rows:
        caught = row["caught_by"] or (NOT_JUDGED if not row["is_judged"] else
                                      "survived, as is known: " + row["known"] if row["known"] else "SURVIVED")
        lines.append((row["fault"], row["stands_for"], caught, f"{row['seconds']:.1f}"))
    widths = [max(len(line[column]) for line in lines) for column in range(2)]
    return [f"{line[0]:{widths[0]}}  {line[1]:{widths[1]}}  {line[3]:>7}  {line[2]}" for line in lines]


def page_of(rows):
    caught = sum(row["caught_by"] is not None for row in rows)
    lines = ["# Planted faults", "", "Written by `./dev mutate --markdown`; what they are: `tests/mutation/README.md`.", "",
             f"{caught} of {len(rows)} are caught.", "", "| fault | stands for | caught by | seconds |", "|---|---|---|---|"]
    for row in rows:
        by = f"`{row['caught_by']}`" if row["caught_by"] else NOT_JUDGED if not row["is_judged"] else "**nothing**" + (": " + row["known"] if row["known"] else "")
        lines.append(f"| `{row['fault']}` | {row['stands_for']} | {by} | {row['seconds']:.1f} |")
    return "\n".join(lines) + "\n"


def tell_planted(arguments, rows):
    print("\n".join(table_of(rows)))
    not_judged = [row["fault"] for row in rows if not row["is_judged"]]
    living = [row["fault"] for row in rows if row["caught_by"] is None and row["is_judged"] and not row["known"]]
    for row in rows:
        if row["known"] and row["caught_by"]:
            print(f"{row['fault']} is caught now: take `known` out of the list")
    print(f"mutate: {sum(row['caught_by'] is not None for row in rows)} of {len(rows)} faults caught" +
          (f"; SURVIVED: {' '.join(living)}" if living else "") + (f"; NOT JUDGED: {' '.join(not_judged)}" if not_judged else ""))
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(rows, indent=1) + "\n")
    if arguments.markdown:
        page = Path(arguments.markdown)
        page.write_text(page_of(rows) + (generated.notes_of(page.read_text()) if page.is_file() else ""))
    return 1 if living or not_judged else 0


def main(command_line):
    arguments = arguments_of(command_line)
    try:
        if arguments.generated:
            return generated.run(arguments)
        if arguments.report:
            return generated.report(arguments)
        all_faults = planted.read_faults()
        faults = chosen_of(all_faults, arguments.only)
        if arguments.list:
            for fault in faults:
                print(f"{fault.name:34} {fault.stands_for}{' (known to live)' if fault.known else ''}")
            return 0
        if arguments.check:
            planted.plant(all_faults, ROOT)
            print(f"mutate: all {len(all_faults)} faults apply")
            return 0
        return tell_planted(arguments, run_planted(arguments, faults, all_faults))
    except (planted.PlantingError, ScratchError) as error:
        print(f"mutate: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
