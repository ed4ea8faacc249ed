"""The layer rule: reads the table of docs/internals/architecture.md and checks the includes of a source tree against it.

Grammar of the table's folder column: patterns in backquotes, separated by commas. A pattern ending in / covers what lies
below it, any other one names files. `*` stands for one folder or file name, `{a,b}` for one of several. A row whose pattern
contains either is a family: its members (the folders that the wildcard stands for) do not include each other. A file
belongs to the row with the longest pattern that matches it. Every layer may include itself.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

SOURCE_SUFFIXES = {".hpp", ".cpp", ".h", ".c", ".cu"}
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<(weft/[^>]+)>)')
ANYTHING = "anything"


@dataclass
class Pattern:
    text: str
    regex: re.Pattern = field(init=False)

    def __post_init__(self):
        out = ""
        for token in re.split(r"(\*|\{[^}]*\})", self.text):
            if token == "*":
                out += r"([^/]+)"
            elif token.startswith("{"):
                out += "(" + "|".join(re.escape(part.strip()) for part in token[1:-1].split(",")) + ")"
            else:
                out += re.escape(token)
        self.regex = re.compile(out + (".*" if self.text.endswith("/") else ""))


@dataclass
class Layer:
    name: str
    patterns: list
    may_include: list


@dataclass(frozen=True)
class Place:
    """Where a file belongs: its layer, and its member of a family ("" outside families)."""

    layer: str
    member: str


def read_table(document):
    """The layers of the table below the header `| layer | folder | may include |`."""
    layers, inside = [], False
    for line in document.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if [cell.lower() for cell in cells] == ["layer", "folder", "may include"]:
            inside = True
        elif inside and not line.startswith("|"):
            break
        elif inside and not set(line) <= set("|-: "):
            if len(cells) != 3:
                raise ValueError(f"layer table: expected three columns, found {len(cells)} in: {line}")
            patterns = [Pattern(text) for text in re.findall(r"`([^`]+)`", cells[1])]
            names = [name.strip() for name in cells[2].split(",") if name.strip() not in ("", "–", "-")]
            if not patterns:
                raise ValueError(f"layer table: no folder in backquotes in: {line}")
            layers.append(Layer(cells[0], patterns, names))
    known = {layer.name for layer in layers} | {ANYTHING}
    if not layers:
        raise ValueError("layer table: no table with the header | layer | folder | may include | was found")
    for layer in layers:
        for name in layer.may_include:
            if name not in known:
                raise ValueError(f"layer table: row '{layer.name}' names the unknown layer '{name}'")
    return layers


def place_of(path, layers):
    """The Place of a file, given relative to the root; None when no row covers it."""
    best = None
    for layer in layers:
        for pattern in layer.patterns:
            match = pattern.regex.fullmatch(path)
            if match and (best is None or len(pattern.text) > best[0]):
                member = "/".join(match.groups()) if pattern.text.endswith("/") else ""
                best = (len(pattern.text), Place(layer.name, member))
    return best[1] if best else None


def resolve(root, includer, quoted, public):
    """The included file relative to the root, or None when the tree has no such file."""
    if public:
        candidates = [Path("include") / public]
    else:
        bases = [Path(base) for base in ("src", "tools", "apps", "tests", ".")]
        bases += [path.relative_to(root) for path in (root / "apps").glob("*/")]
        candidates = [base / quoted for base in [includer.parent, *bases]]
    for candidate in candidates:
        if (root / candidate).is_file():
            return (root / candidate).resolve().relative_to(root.resolve()).as_posix()
    return None


def source_files(root):
    for top in ("include", "src", "bindings", "tools", "apps", "examples", "tests"):
        for path in sorted((root / top).rglob("*")):
            if path.suffix in SOURCE_SUFFIXES and path.is_file():
                yield path.relative_to(root)


def check_includes(root, layers):
    """Every include that breaks the table, one line each."""
    may = {layer.name: set(layer.may_include) | {layer.name} for layer in layers}
    faults = []
    for path in source_files(root):
        place = place_of(path.as_posix(), layers)
        if place is None:
            faults.append(f"{path}: lies in no row of the layer table of docs/internals/architecture.md")
            continue
        for number, line in enumerate((root / path).read_text(errors="replace").splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            quoted, public = match.groups()
            where = f"{path}:{number}: includes {quoted or public}"
            target = resolve(root, path, quoted, public)
            if path.parts[0] == "include" and quoted:
                faults.append(f"{where}: public headers include <weft/...> and standard headers only")
            elif target is None:
                faults.append(f"{where}: the tree has no such file")
            elif (target_place := place_of(target, layers)) is None:
                faults.append(f"{where}: {target} lies in no row of the layer table")
            elif ANYTHING in may[place.layer]:
                continue
            elif target_place.layer not in may[place.layer]:
                faults.append(f"{where}: layer '{place.layer}' may not include layer '{target_place.layer}'")
            elif target_place.layer == place.layer and target_place.member != place.member:
                faults.append(f"{where}: siblings of layer '{place.layer}' do not include each other")
    return faults


def folder_circles(root, tops=("src", "bindings", "tools")):
    """The circles of folders, each as a sorted list: a folder is a floor, so nothing that it includes leads back to it. A folder and
    those below it are different floors. Each circle comes with the includes that close it."""
    includes = {}
    for path in source_files(root):
        if path.parts[0] not in tops:
            continue
        for line in (root / path).read_text(errors="replace").splitlines():
            match = INCLUDE.match(line)
            target = match and match.group(1) and resolve(root, path, match.group(1), None)
            if target and Path(target).parent != path.parent:
                folders = includes.setdefault(path.parent.as_posix(), {})
                folders.setdefault(Path(target).parent.as_posix(), set()).add(f"{path} includes {target}")
    circles, seen = [], set()
    for folder in sorted(includes):
        if folder in seen:
            continue
        circle = {each for each in reached(includes, folder) if folder in reached(includes, each)}
        if circle:
            seen |= circle
            circles.append((sorted(circle), sorted(line for each in circle for other, lines in includes[each].items() if other in circle
                                                   for line in lines)))
    return circles


def reached(includes, folder):
    """The folders to which includes lead from one, itself only by a circle."""
    found, open_ends = set(), [folder]
    while open_ends:
        for other in includes.get(open_ends.pop(), {}):
            if other not in found:
                found.add(other)
                open_ends.append(other)
    return found
