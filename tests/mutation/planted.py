"""The planted faults: read from faults/*.toml, checked against a tree, and put into a copy of it.

A file holds the faults of one subject. A fault is a table named after it:

    [tag-of-8-bits]
    stands_for = "a comparison that leaves bits out"
    file = "src/core/..."        # with find and replace; or edits = [{file, find, replace}, ...]
    find = "a == b"              # occurs once in the file
    replace = "(FAULT ? (a & 255) == (b & 255) : a == b)"
    programs = ["unit-core"]     # targets of the build that the tests need
    tests = '^unit-core[.]Tags'  # which tests should catch it: a regular expression of names that ctest knows
    known = "..."                # only where nothing catches it yet: why

FAULT is true where the fault is switched on. Two faults of one place stand in one replacement, where FAULT[other] is that of the
other, which has planted_by = "the-first" in place of edits. The product has no trace of any of this."""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

FAULTS = Path(__file__).resolve().parent / "faults"
SWITCH = "PLANTED_FAULT"  # the environment variable that names the fault that is switched on
HEADER = "include/planted_faults.hpp"
HEADER_TEXT = f"""#pragma once
#include <cstdlib>
#include <cstring>
namespace planted {{
inline const char* const chosen = std::getenv("{SWITCH}");
inline bool is_on(const char* name) noexcept {{ return chosen != nullptr && std::strcmp(chosen, name) == 0; }}
}}  // namespace planted
"""
FIELDS = {"stands_for", "file", "find", "replace", "edits", "planted_by", "programs", "tests", "known"}


class PlantingError(Exception):
    """What is wrong with the list, or no longer fits the tree; names the fault."""


@dataclass(frozen=True)
class Edit:
    file: str
    find: str
    replace: str


@dataclass(frozen=True)
class Fault:
    name: str
    stands_for: str
    edits: tuple[Edit, ...]
    programs: tuple[str, ...]
    tests: re.Pattern
    known: str = ""
    planted_by: str = ""


def fault_of(name, table):
    """The fault that a table of a file describes."""
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name):
        raise PlantingError(f"fault '{name}': names are words of small letters and digits with hyphens between them")
    for field in table:
        if field not in FIELDS:
            raise PlantingError(f"fault {name}: unknown field '{field}' (one of: {' '.join(sorted(FIELDS))})")
    for field in ("stands_for", "programs", "tests"):
        if not table.get(field):
            raise PlantingError(f"fault {name}: the field '{field}' is missing")
    planted_by = table.get("planted_by", "")
    edits = [] if planted_by else table.get("edits", [table])
    try:
        edits = tuple(Edit(each["file"], each["find"].strip("\n"), each["replace"].strip("\n")) for each in edits)
    except KeyError as missing:
        raise PlantingError(f"fault {name}: an edit lacks {missing}; it needs file, find and replace") from None
    if not planted_by and not any(re.search(r"FAULT(?!\[)", each.replace) for each in edits):
        raise PlantingError(f"fault {name}: no replacement depends on FAULT, so that it could not be switched on")
    try:
        tests = re.compile(table["tests"])
    except re.error as error:
        raise PlantingError(f"fault {name}: '{table['tests']}' is no regular expression: {error}") from None
    return Fault(name, table["stands_for"], edits, tuple(table["programs"]), tests, table.get("known", ""), planted_by)


def read_faults(folder=FAULTS):
    """All faults, in the order of the files and of their places there."""
    faults = {}
    for path in sorted(Path(folder).glob("*.toml")):
        try:
            tables = tomllib.loads(path.read_text())
        except tomllib.TOMLDecodeError as error:
            raise PlantingError(f"{path.name}: {error}") from None
        for name, table in tables.items():
            if name in faults:
                raise PlantingError(f"fault {name}: described twice, the second time in {path.name}")
            faults[name] = fault_of(name, table)
    for fault in faults.values():
        if fault.planted_by and not any(f"FAULT[{fault.name}]" in edit.replace
                                        for edit in faults.get(fault.planted_by, fault).edits):
            raise PlantingError(f"fault {fault.name}: '{fault.planted_by}', which should plant it, does not have FAULT[{fault.name}]")
    return list(faults.values())


def with_planters(chosen, faults):
    """The chosen ones of the faults, and those that plant them."""
    needed = {fault.planted_by for fault in chosen}
    return [fault for fault in faults if fault in chosen or fault.name in needed]


def plant(faults, root):
    """The texts of all files of the tree that the faults change, by name. Raises PlantingError for what does not fit."""
    changes = {}
    for fault in faults:
        for edit in fault.edits:
            path = Path(root) / edit.file
            if not path.is_file():
                raise PlantingError(f"fault {fault.name} no longer applies: there is no {edit.file}")
            text = path.read_text()
            count = text.count(edit.find)
            if count != 1:
                what = "does not occur" if count == 0 else f"occurs {count} times"
                raise PlantingError(f"fault {fault.name} no longer applies: what it replaces {what} in {edit.file}: "
                                    f"{edit.find.strip().splitlines()[0]}")
            begin = text.index(edit.find)
            replacement = re.sub(r"FAULT(?:\[([a-z0-9-]+)\])?", lambda found: f'planted::is_on("{found[1] or fault.name}")', edit.replace)
            changes.setdefault(edit.file, []).append((begin, begin + len(edit.find), replacement, fault.name))
    texts = {HEADER: HEADER_TEXT}
    for file, places in changes.items():
        text = (Path(root) / file).read_text()
        places.sort()
        for before, after in zip(places, places[1:]):
            if after[0] < before[1]:
                raise PlantingError(f"faults {before[3]} and {after[3]} change the same place of {file}")
        for begin, end, replacement, _ in reversed(places):
            text = text[:begin] + replacement + text[end:]
        include = "#include <planted_faults.hpp>\n"
        guard = "#pragma once\n"
        texts[file] = text.replace(guard, guard + include, 1) if guard in text else include + text
    return texts
