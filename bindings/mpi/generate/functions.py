"""The table of MPI's functions (bindings/mpi/table/*.txt), read.

A row is a function: its name, what is there, and its arguments in C. `here` is implemented, `missing` answers
MPI_ERR_UNSUPPORTED_OPERATION, `plain` is implemented and neither needs its arguments checked nor reports failures, a code of the
tool interface (T_ERR_...) is what the call always answers. A result other than int stands before the name: "double:Wtime". Four words
stand for a type that has a large-count twin, which makes the function with the suffix _c:

    COUNT    int, MPI_Count      checked: 0 or more, unless it is an array
    SIGNED   int, MPI_Count      any value
    DISP     int, MPI_Aint       any value
    AINT     MPI_Aint, MPI_Count any value
"""

import re
from dataclasses import dataclass
from pathlib import Path

TABLE = Path(__file__).resolve().parents[1] / "table"
WORDS = {"COUNT": ("int", "MPI_Count"), "SIGNED": ("int", "MPI_Count"), "DISP": ("int", "MPI_Aint"), "AINT": ("MPI_Aint", "MPI_Count")}
STATES = ("here", "missing", "plain")


@dataclass
class Argument:
    type: str   # in C, with the words above
    name: str
    array: str  # "[]", "[3]" or nothing

    def declared(self, large, with_name=True):
        text = self.type
        for word, (small, big) in WORDS.items():
            text = re.sub(rf"\b{word}\b", big if large else small, text)
        if self.type == "...":
            return "..."
        return text + (f" {self.name}" if with_name else "") + self.array if with_name or not self.array else f"{text}*"

    @property
    def word(self):
        found = re.search(r"\b(COUNT|SIGNED|DISP|AINT)\b", self.type)
        return found.group(1) if found else None


@dataclass
class Function:
    name: str  # without MPI_
    state: str
    result: str
    arguments: list
    group: str

    @property
    def has_twin(self):
        return any(argument.word for argument in self.arguments)

    def names(self):
        return [self.name, self.name + "_c"] if self.has_twin else [self.name]

    def declaration(self, prefix, large=False, with_names=True):
        arguments = ", ".join(argument.declared(large, with_names) for argument in self.arguments) or "void"
        return f"{self.result} {prefix}{self.name}{'_c' if large else ''}({arguments})"


def read_argument(text, where):
    if text == "...":
        return Argument("...", "", "")
    match = re.fullmatch(r"(.*[ *])([A-Za-z_0-9]+)((?:\[\d*\])*)", text)
    if not match:
        raise ValueError(f"{where}: '{text}' is no argument: a type and a name are needed")
    return Argument(match.group(1).strip(), match.group(2), match.group(3))


def read_row(line, group, where):
    fields = line.split(None, 2)
    if len(fields) != 3 or not (fields[1] in STATES or fields[1].startswith("T_ERR_")):
        raise ValueError(f"{where}: a row is a name, one of {', '.join(STATES)} or a code T_ERR_..., and the arguments; found: {line}")
    name, state, arguments = fields
    result, _, name = name.rpartition(":")
    listed = [] if arguments == "void" else [read_argument(text.strip(), where) for text in arguments.split(",")]
    return Function(name, state, result or "int", listed, group)


def read_groups(folder=TABLE):
    """Name of the group -> its functions."""
    groups = {}
    for path in sorted(Path(folder).glob("*.txt")):
        rows = [(number, line.strip()) for number, line in enumerate(path.read_text().splitlines(), 1)]
        groups[path.stem] = [read_row(line, path.stem, f"{path.name}:{number}") for number, line in rows
                             if line and not line.startswith("#")]
    names = [name for rows in groups.values() for row in rows for name in row.names()]
    doubled = {name for name in names if names.count(name) > 1}
    if doubled:
        raise ValueError(f"two rows for {', '.join(sorted(doubled))}")
    return groups
