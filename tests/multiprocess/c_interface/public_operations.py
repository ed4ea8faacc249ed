"""The operations of weft's public headers: member functions of public classes, and functions of the namespace weft."""

import os
import re
import sys
from pathlib import Path

ROOT = Path(os.environ["WEFTDEV_SOURCE_DIR"])
sys.path.insert(0, str(ROOT / "tests" / "architecture"))
from numbers_of_architecture import CLASS, SKIPPED, block_end, statements, without_comments  # noqa: E402

INCLUDE = re.compile(r"#include <(weft/[\w/]+\.hpp)>")
NAMESPACE = re.compile(r"\bnamespace\s+([\w:]*)\s*\{")
ACCESS = re.compile(r"^\s*(public|private|protected)\s*:")
NO_NAMES = {"decltype", "uint64_t"}
NAME = re.compile(r"(~?\b\w+|operator\s*\S+?)\s*\(")


def headers():
    """What <weft/weft.hpp> includes, however far, without detail."""
    found, left = [], ["weft/weft.hpp"]
    while left:
        header = left.pop()
        if header in found or "/detail/" in header:
            continue
        found.append(header)
        left += INCLUDE.findall((ROOT / "include" / header).read_text())
    return sorted(found)


def declared_name(statement):
    """The name of the function that is declared, or None."""
    if SKIPPED.match(statement):
        return None
    head = re.sub(r"\[\[.*?\]\]|__attribute__\(\(.*?\)\)|alignas\([^)]*\)|noexcept\([^)]*\)|requires\s*\([^)]*\)", " ", statement, flags=re.DOTALL)
    while head != (shorter := re.sub(r"<[^<>]*>", " ", head)):
        head = shorter
    match = NAME.search(head.split("=", 1)[0])
    return match.group(1) if match else None


def members(name, body, is_struct):
    """The public member functions: Class::function."""
    is_public = is_struct
    for statement in statements(body):
        while access := ACCESS.match(statement):
            is_public = access.group(1) == "public"
            statement = statement[access.end():]
        function = declared_name(statement) if is_public else None
        if function and function.lstrip("~") != name and not function.startswith("operator") and function not in NO_NAMES:
            yield f"{name}::{function}"


def in_namespace(body):
    """Operations of a namespace's body, and of the namespaces in it but detail."""
    rest = body
    for match in NAMESPACE.finditer(body):
        inner = body[match.end():block_end(body, match.end() - 1) - 1]
        rest = rest.replace(inner, "")
    for match in CLASS.finditer(rest):
        yield from members(match.group(1), rest[match.end():block_end(rest, match.end() - 1) - 1], "struct" in match.group(0))
    for statement in statements(rest):
        function = declared_name(statement)
        if function and re.search(r"\w[\s&*>]+" + re.escape(function) + r"\s*\(", statement) and "::" + function not in statement:
            yield function


def operations():
    found = set()
    for header in headers():
        text = re.sub(r"^\s*#.*(\\\n.*)*$", "", without_comments((ROOT / "include" / header).read_text()), flags=re.MULTILINE)
        text = re.sub(r"\btemplate\s*<(?:[^<>]|<[^<>]*>)*>", "", text)
        for match in re.finditer(r"\bnamespace weft\s*\{", text):
            found.update(in_namespace(text[match.end():block_end(text, match.end() - 1) - 1]))
    return sorted(found)


if __name__ == "__main__":
    print("\n".join(operations()))
