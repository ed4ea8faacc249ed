"""What weft.h declares: its functions, structs and values, as texts of C."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

HERE = Path(os.environ["WEFTDEV_SOURCE_DIR"]) / "bindings" / "c"
HEADERS = HERE / "include" / "weft_c"
FUNCTION = re.compile(r"^WEFT_C_API\s+([^;(]*?)\b(weft_\w+)\(([^;]*)\);", re.MULTILINE)
STRUCT = re.compile(r"typedef struct (weft_\w+) \{(.*?)\n\} \1;", re.DOTALL)
ENUM = re.compile(r"\benum(?: weft_\w+)? \{(.*?)\}", re.DOTALL)
OPAQUE = re.compile(r"^typedef struct (weft_\w+) \1;", re.MULTILINE)
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


@dataclass(frozen=True)
class Parameter:
    type: str  # "const weft_options*"
    name: str


@dataclass(frozen=True)
class Function:
    result: str
    name: str
    parameters: tuple


def text(folder=HEADERS):
    return COMMENT.sub("", "\n".join(path.read_text() for path in sorted(folder.glob("*.h"))))


def parameter_of(declared):
    kind, name = re.fullmatch(r"(.*?)(\w+)", " ".join(declared.split())).groups()
    return Parameter(kind.replace(" *", "*").strip(), name)


def functions():
    found = []
    for result, name, declared in FUNCTION.findall(text()):
        parameters = () if declared.strip() == "void" else tuple(parameter_of(each) for each in declared.split(","))
        found.append(Function(" ".join(result.split()).replace(" *", "*"), name, parameters))
    return found


def fields():
    """Of each struct the names of its fields, in their order."""
    found = {}
    for name, body in STRUCT.findall(text()):
        body = re.sub(r"union \{.*?\}", "union", body, flags=re.DOTALL)
        found[name] = [re.search(r"(\w+)(\[\d+\])?$", each.strip()).group(1) for each in body.split(";") if each.strip()]
    return found


def constants():
    found = []
    for body in ENUM.findall(text()):
        found += [each.split("=")[0].strip() for each in body.split(",") if each.strip()]
    return found


def handles():
    """The types of which programs have pointers only."""
    return sorted(OPAQUE.findall(text()))
