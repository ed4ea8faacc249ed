"""What is no payload is refused by the compiler, in words that say what to write instead."""

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(os.environ.get("WEFTDEV_SOURCE_DIR", Path(__file__).resolve().parents[2]))
COMPILER = os.environ.get("CXX", "c++")

HEAD = """
#include <weft/{header}>
#include <array>
#include <cstdlib>
#include <deque>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>
struct Item {{ int number; }};
"""
CASE = """#line 1 "case{number}"
[[maybe_unused]] static void use{number}({parameters}) {{ {statement}; }}
"""

POINTER = "would send the address"
ELSEWHERE = "mean nothing to another process"
TEMPORARY = "give it a name"
TEXT = "may be a text, whose last zero is no part of it, or an array"
LIST = "const std::array values{...}; bytes_of(values)"
SERIALIZE = "serialize others into a std::vector<std::byte>"
CONSTANT = "what is constant cannot be filled"

REFUSED = [
    ("const char* text", "(void)weft::bytes_of(text)", "std::string_view(text)"),
    ("Item* item", "(void)weft::bytes_of(item)", "bytes_of(*pointer)"),
    ("double* const first", "(void)weft::bytes_of(first)", "std::span(pointer, count)"),
    ("void* anything", "(void)weft::bytes_of(anything)", POINTER),
    ("int values[3]", "(void)weft::bytes_of(values)", POINTER),
    ("", "(void)weft::bytes_of(nullptr)", POINTER),
    ("", "(void)weft::bytes_of(std::abort)", POINTER),
    ("", "(void)weft::bytes_of(\"text\")", TEXT),
    ("const char (&name)[8]", "(void)weft::bytes_of(name)", "std::string_view(text)"),
    ("const wchar_t (&name)[8]", "(void)weft::bytes_of(name)", "std::as_bytes(std::span(array))"),
    ("", "(void)weft::bytes_of({1, 2, 3})", LIST),
    ("std::initializer_list<double> list", "(void)weft::bytes_of(list)", LIST),
    ("std::span<const char* const> texts", "(void)weft::bytes_of(texts)", ELSEWHERE),
    ("std::vector<Item*>& items", "(void)weft::bytes_of(items)", ELSEWHERE),
    ("std::array<int*, 2>& items", "(void)weft::bytes_of(items)", ELSEWHERE),
    ("const char* (&texts)[2]", "(void)weft::bytes_of(texts)", ELSEWHERE),
    ("std::vector<std::string_view>& texts", "(void)weft::bytes_of(texts)", ELSEWHERE),
    ("std::array<std::span<int>, 2>& parts", "(void)weft::bytes_of(parts)", ELSEWHERE),
    ("std::optional<int*> maybe", "(void)weft::bytes_of(maybe)", ELSEWHERE),
    ("std::vector<int>::iterator place", "(void)weft::bytes_of(place)", ELSEWHERE),
    ("std::reference_wrapper<int> reference", "(void)weft::bytes_of(reference)", ELSEWHERE),
    ("std::shared_ptr<int> pointer", "(void)weft::bytes_of(pointer)", ELSEWHERE),
    ("", "(void)weft::bytes_of(std::vector<int>{1, 2})", TEMPORARY),
    ("", "(void)weft::bytes_of(std::string(\"text\"))", TEMPORARY),
    ("", "(void)weft::bytes_of(std::array{1, 2})", TEMPORARY),
    ("std::vector<std::vector<int>>& rows", "(void)weft::bytes_of(rows)", "weft: "),
    ("std::vector<bool>& flags", "(void)weft::bytes_of(flags)", SERIALIZE),
    ("std::deque<int>& numbers", "(void)weft::bytes_of(numbers)", SERIALIZE),
    ("const std::vector<int>& numbers", "(void)weft::mutable_bytes_of(numbers)", CONSTANT),
    ("std::string_view text", "(void)weft::mutable_bytes_of(text)", CONSTANT),
    ("", "(void)weft::mutable_bytes_of(\"text\")", CONSTANT),
    ("", "(void)weft::mutable_bytes_of(std::vector<int>(3))", TEMPORARY),
    ("char* text", "(void)weft::mutable_bytes_of(text)", POINTER),
]

REFUSED_MESSAGES = [
    ("const weft::Message& message", "(void)message.as<int*>()", ELSEWHERE),
    ("const weft::Message& message", "(void)message.as<std::string_view>()", ELSEWHERE),
]

REFUSED_COLLECTIVES = [
    ("weft::Collective& all, std::vector<int*>& items", "all.broadcast(items, 0)", ELSEWHERE),
    ("weft::Collective& all", "(void)all.make_broadcast(std::vector<int>(2), 0)", TEMPORARY),
    ("weft::Collective& all, long (&sums)[2]",
     "(void)all.make_allreduce(std::vector<long>{1, 2}, sums, weft::operators::Sum{})", TEMPORARY),
]

ACCEPTED = ("std::vector<int>& numbers, const std::string& text, std::string_view view, std::array<Item, 2>& items,"
            " const int (&constant)[3], std::span<const Item> part, Item item, char (&name)[8]",
            """for (const weft::Bytes bytes :
         {weft::bytes_of(numbers), weft::bytes_of(text), weft::bytes_of(view), weft::bytes_of(items),
          weft::bytes_of(constant), weft::bytes_of(part), weft::bytes_of(item), weft::bytes_of(name),
          weft::bytes_of(std::span(numbers)), weft::bytes_of(std::string_view(text))})
      (void)bytes""")


def said_of(cases, header):
    """What the compiler says about each of the statements, "" where it accepts one. All are in one unit."""
    with tempfile.TemporaryDirectory() as directory:
        unit = Path(directory) / "unit.cpp"
        unit.write_text(HEAD.format(header=header) +
                        "".join(CASE.format(number=number, parameters=case[0], statement=case[1])
                                for number, case in enumerate(cases)))
        result = subprocess.run([COMPILER, "-std=c++20", f"-I{ROOT / 'include'}", "-fsyntax-only", str(unit)],
                                capture_output=True, text=True, check=False)
    said, place, error = [""] * len(cases), None, ""
    for line in result.stderr.splitlines():
        named = re.match(r"case(\d+):", line)
        if named:
            place = int(named[1])
            # clang names the place behind the error, gcc before it.
            said[place], error = said[place] + error, ""
        if "error:" in line:
            if "required from here" in result.stderr and place is not None:
                said[place] += line + "\n"
            else:
                error = line + "\n"
    return said


class RefusedBytes(unittest.TestCase):
    def check(self, cases, header):
        for (parameters, statement, words), answer in zip(cases, said_of(cases, header)):
            with self.subTest(parameters=parameters, statement=statement):
                self.assertRegex(answer, "static.assert")
                self.assertIn(words, answer)

    def test_bytes_of_says_what_to_write(self):
        self.check(REFUSED, "types.hpp")

    def test_message_as_gives_no_pointers(self):
        self.check(REFUSED_MESSAGES, "message.hpp")

    def test_collectives_take_no_pointers_and_no_temporaries(self):
        self.check(REFUSED_COLLECTIVES, "collective.hpp")

    def test_what_has_bytes_is_accepted(self):
        self.assertEqual(said_of([ACCEPTED], "types.hpp"), [""])


if __name__ == "__main__":
    unittest.main(verbosity=2)
