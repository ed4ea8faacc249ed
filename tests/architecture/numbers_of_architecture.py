"""Numbers of the architecture, printed as a table: how far the house is from what its decisions want.

`python3 tests/architecture/numbers_of_architecture.py` prints them for the source tree. What has a limit is checked by numbers_test.py.
"""

import os
import re
import sys
from collections import Counter
from pathlib import Path

import layers

ROOT = Path(os.environ.get("WEFTDEV_SOURCE_DIR", Path(__file__).resolve().parents[2]))
FILES_PER_FOLDER = 25
# One page per decision: these grow with the years.
GROWING_FOLDERS = {"docs/decisions"}

COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.S)
CLASS = re.compile(r"\b(?:class|struct)\s+(?:\[\[[^\]]*\]\]\s*|alignas\([^)]*\)\s*|WEFT_API\s+)*(\w+)[^;{}()=]*\{")
FUNCTION = re.compile(r"(?:~?\b\w+|operator\S+)\s*\(")
SKIPPED = re.compile(r"\s*(?:using|friend|static_assert|typedef|enum|public|private|protected)\b")


def without_comments(text):
    """The text without comments, its strings emptied."""
    return COMMENT.sub(lambda m: '""' if m.group(0).startswith('"') else " ", text)


def block_end(text, begin):
    """The position behind the brace that closes the one at `begin`."""
    depth = 0
    for place in range(begin, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return place + 1
    return len(text)


def statements(body):
    """The declarations of a class body: text up to a semicolon or a block, blocks left out."""
    place, begin = 0, 0
    while place < len(body):
        if body[place] == "{":
            yield body[begin:place]
            place = begin = block_end(body, place)
            continue
        if body[place] == ";":
            yield body[begin:place]
            begin = place + 1
        place += 1


def member_functions(text):
    """(class, number of its member functions) for every class of a header, nested ones included."""
    text = without_comments(text)
    for match in CLASS.finditer(text):
        brace = match.end() - 1
        body = text[brace + 1:block_end(text, brace) - 1]
        count = 0
        for declared in statements(body):
            declared = re.sub(r"^(?:\s*(?:public|private|protected)\s*:)+", "", declared)
            head = declared.split("=", 1)[0] if "operator" not in declared else declared
            while head != (shorter := re.sub(r"<[^<>]*>", "", head)):  # the arguments of templates name no function
                head = shorter
            if FUNCTION.search(head) and not SKIPPED.match(declared):
                count += 1
        yield match.group(1), count


def sources(root, *tops):
    """(path relative to the root, text) of every C++ file below the folders."""
    for path in layers.source_files(root):
        if path.as_posix().startswith(tops):
            yield path.as_posix(), (root / path).read_text()


def largest_class(root):
    """(number of member functions, class, file) of the class with most of them."""
    return max((count, name, path) for path, text in sources(root, "include/", "src/") if path.endswith(".hpp")
               for name, count in member_functions(text))


def flags_of_posts(root):
    """(parameters of type bool, functions that have one) among the functions of core that post, attempt, send, keep or queue."""
    flags, functions = 0, 0
    pattern = re.compile(r"\b(?:post|attempt|send|enqueue|keep|start|announce|transmit)\w*\s*\(([^()]*(?:\([^()]*\)[^()]*)*)\)", re.S)
    for path, text in sources(root, "src/core/"):
        if not path.endswith(".hpp"):
            continue
        for arguments in pattern.findall(without_comments(text)):
            count = len(re.findall(r"\bbool\s+\w+", arguments))
            flags += count
            functions += count != 0
    return flags, functions


def writers_of_a_slot(root):
    """Places that make a message in a slot visible: stores of a slot's header with release."""
    pattern = re.compile(r"\bheader\.store\([^;]*memory_order_release")
    return sorted(path for path, text in sources(root, "include/", "src/") for _ in pattern.findall(without_comments(text)))


def entries_into_core(root):
    """The functions of network::Sink by which an active message enters core."""
    text = without_comments((root / "src/network/network.hpp").read_text())
    begin = re.search(r"class Sink\b[^{]*\{", text)
    body = text[begin.end():block_end(text, begin.end() - 1)]
    return re.findall(r"virtual\s+void\s+(take_\w+|deliver\w*)|virtual\s+bool\s+(deliver\w*)", body)


def files_per_folder(root):
    """Folder -> number of files in it, for what the project keeps."""
    count = Counter()
    for top in ("include", "src", "tools", "apps", "examples", "tests", "docs", "cmake", "bindings"):
        for path in (root / top).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                count[path.parent.relative_to(root).as_posix()] += 1
    return count


def table(root):
    functions, name, path = largest_class(root)
    flags, posts = flags_of_posts(root)
    writers = writers_of_a_slot(root)
    entries = entries_into_core(root)
    folder, files = max(((f, n) for f, n in files_per_folder(root).items() if f not in GROWING_FOLDERS), key=lambda each: each[1])
    return [("member functions of the largest class", functions, f"{name} ({path})"),
            ("flags of posts (bool parameters)", flags, f"in {posts} functions of src/core"),
            ("writers of a slot", len(writers), ", ".join(f"{Path(each).name}" for each in writers)),
            ("entries of an active message into core", len(entries), ", ".join(a or b for a, b in entries)),
            ("files in the fullest folder", files, folder)]


def main():
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(__doc__.strip())
        return 0
    if sys.argv[1:]:
        print(f"numbers_of_architecture.py: '{sys.argv[1]}' is no option; there is only --help", file=sys.stderr)
        return 2
    rows = table(ROOT)
    width = max(len(what) for what, _, _ in rows)
    for what, value, where in rows:
        print(f"{what:<{width}}  {value:>4}  {where}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
