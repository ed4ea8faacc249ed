"""A name in src/ stands for one thing: files of one name that belong to different modules are a fault.

A module is a header with its source: one folder and one name. Some names are roles, which several modules have in the
same sense; they are listed below, with the sense. A test of the same name does not count, nor does the public header.
"""

import os
import tempfile
import unittest
from pathlib import Path

import layers

ROOT = Path(os.environ.get("WEFTDEV_SOURCE_DIR", Path(__file__).resolve().parents[2]))

ROLES = {
    "atomic": "atomic operations: the calls of the public interface, and the protocol behind them",
    "handle_board": "what a network tells peers of the handles of a rank",
    "one_sided": "puts and gets: the calls of the public interface, and the protocol behind them",
    "peers": "the peers of a rank as a network knows them",
    "port": "a device of a network",
    "post": "the posts of a protocol: checks, the attempt, the backlog",
    "receive": "the receiving half of a protocol or a network",

    "send": "the sending half of a protocol or a network",
    "vectored": "operations of several buffers: the calls of the public interface, and the protocol behind them",
    "multi_slots": "messages of several slots: what all networks offer, and how shared memory does it",
}


def modules_by_name(root):
    """Name -> the modules (paths without suffix) in src/ that have it."""
    modules = {}
    for path in sorted((root / "src").rglob("*")):
        if path.suffix in layers.SOURCE_SUFFIXES and path.is_file():
            name = path.name.split(".", 1)[0]
            modules.setdefault(name, set()).add((path.parent / name).relative_to(root).as_posix())
    return modules


def check_names(root, roles):
    """Every name with several meanings, and every role that nothing shares any more, one line each."""
    modules = modules_by_name(root)
    faults = [f"'{name}' names different things: {', '.join(sorted(places))}; rename all but one of them"
              for name, places in sorted(modules.items()) if len(places) > 1 and name not in roles]
    faults += [f"the role '{name}' is shared by no two modules: take it off the list"
               for name in sorted(roles) if len(modules.get(name, ())) < 2]
    return faults


class TheTreeOfThisProject(unittest.TestCase):
    def test_names_one_thing_by_one_name(self):
        faults = check_names(ROOT, ROLES)
        if faults:
            self.fail("\n" + "\n".join(faults))


class TheCheckItself(unittest.TestCase):
    """Each rule is broken once on purpose: a check that cannot fail shows nothing."""

    def faults(self, names, roles=()):
        with tempfile.TemporaryDirectory() as directory:
            for name in names:
                path = Path(directory) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("")
            return "\n".join(check_names(Path(directory), roles))

    def test_accepts_a_header_with_its_source_and_bodies(self):
        names = ["src/base/log.hpp", "src/base/log.cpp", "src/base/log.inl.hpp", "src/base/clock.hpp"]
        self.assertEqual(self.faults(names), "")

    def test_accepts_a_role(self):
        self.assertEqual(self.faults(["src/network/shm/port/port.hpp", "src/network/sim/port.cpp"], {"port"}), "")

    def test_reports_two_modules_of_one_name(self):
        faults = self.faults(["src/core/wait/patience.hpp", "src/network/shm/patience.cpp"])
        self.assertIn("'patience' names different things: src/core/wait/patience, src/network/shm/patience", faults)

    def test_reports_a_role_that_nothing_shares(self):
        self.assertIn("the role 'port' is shared by no two modules", self.faults(["src/network/shm/port/port.hpp"], {"port"}))


if __name__ == "__main__":
    unittest.main(verbosity=2)
