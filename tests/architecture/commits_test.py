"""The check of commits finds what it is there for, and nothing else."""

import subprocess
import tempfile
import unittest
from pathlib import Path

import commits


class Subjects(unittest.TestCase):
    def test_good_ones_pass(self):
        for subject in ("Add a ring", "dev: check commits", "Embed the page", "Bring back what was lost", "Seed the generator", "Planted faults: find more", "x" * 72):
            self.assertEqual(commits.faults_of_subject(subject), [], subject)

    def test_bad_ones_are_named(self):
        for subject, text in (("x" * 73, "73 characters, more than 72"), ("wip: ring", "not finished"), ("WIP3", "not finished"),
                              ("fixup! Add a ring", "not finished"), ("Added a ring", "'added'"), ("ring: adding a slot", "'adding'")):
            self.assertRegex("\n".join(commits.faults_of_subject(subject)), text)


class Repositories(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = Path(directory.name)
        self.git("init", "-q", "-b", "main")
        self.write("a.txt", range(500))
        self.base = self.commit("Begin")

    def git(self, *words):
        settings = ("-c", "user.name=Somebody", "-c", "user.email=somebody@example.org", "-c", "commit.gpgsign=false")
        return subprocess.run(["git", "-C", str(self.root), *settings, *words], capture_output=True, text=True, check=True).stdout.strip()

    def write(self, name, lines):
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text("".join(f"line {line}\n" for line in lines))

    def commit(self, subject):
        self.git("add", "-A")
        self.git("commit", "-q", "-m", subject)
        return self.git("rev-parse", "HEAD")

    def test_a_commit_of_too_many_lines_is_named_with_their_number(self):
        self.write("a.txt", range(1000, 1301))
        self.commit("Write it anew")
        [fault] = commits.check(self.root, self.base)
        self.assertIn('"Write it anew": it changes 801 lines, more than 600', fault)
        self.assertEqual(commits.check(self.root, "HEAD"), [])

    def test_a_move_counts_what_changes(self):
        self.write("b.txt", range(100000, 101000))
        base = self.commit("Add what is long")
        (self.root / "deep").mkdir()
        self.git("mv", "a.txt", "deep/c.txt")
        self.git("mv", "b.txt", "deep/d.txt")
        self.write("deep/d.txt", range(100003, 101000))
        self.commit("Move both")
        self.git("rm", "-q", "deep/d.txt")
        self.commit("Remove what is long")
        self.assertEqual(commits.check(self.root, base), [])

    def test_each_commit_is_looked_at(self):
        for number, subject in enumerate(("Add one", "wip", "Fixed it")):
            self.write("a.txt", range(number + 1, 500))
            self.commit(subject)
        self.assertEqual(len(commits.check(self.root, self.base)), 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
