"""The dev script says what it offers, refuses what it does not know, and the jellyfish check can fail."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(os.environ["WEFTDEV_SOURCE_DIR"])
VERBS = ["build", "run", "test", "bench", "mutate", "fuzz", "docs", "format", "check", "clean"]


def dev(*arguments, **options):
    return subprocess.run([str(ROOT / "dev"), *arguments], capture_output=True, text=True, check=False, timeout=60, **options)


class Dev(unittest.TestCase):
    def test_alone_lists_its_verbs(self):
        result = dev()
        self.assertEqual(result.returncode, 0)
        for verb in VERBS:
            self.assertRegex(result.stdout, rf"(?m)^  {verb} ")

    def test_every_verb_has_help_and_does_nothing_else_then(self):
        for verb in VERBS:
            result = dev(verb, "--help")
            self.assertEqual((result.returncode, result.stderr), (0, ""), verb)
            self.assertIn(f"usage: ./dev {verb}", result.stdout)

    def test_refuses_what_it_does_not_know_in_one_line(self):
        for arguments in (["fly"], ["build", "--fast"], ["test", "--sanitize", "msan"], ["test", "--preset"],
                          ["run", "--ranks", "many"], ["clean", "all"], ["build", "--target", "sparc"], ["mutate", "--list", "--only", "no-such-fault"], ["test", "--target", "aarch65"],
                          ["build", "--compiler", "cc"]):
            result = dev(*arguments)
            self.assertEqual(result.returncode, 2, arguments)
            self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
            self.assertIn(arguments[-1], result.stderr)

    def test_refuses_what_does_not_go_together(self):
        for arguments, name in ((["build", "--target", "aarch64", "--compiler", "clang-16"], "--compiler and --target"),
                                (["build", "--target", "aarch64", "--preset", "debug"], "--target aarch64"),
                                (["test", "--target", "aarch64", "--library"], "--target aarch64")):
            result = dev(*arguments)
            self.assertEqual(result.returncode, 2, arguments)
            self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
            self.assertIn(name, result.stderr)

    def test_names_the_missing_packages_when_it_may_not_install_them(self):
        with tempfile.TemporaryDirectory() as directory:
            tools = Path(directory)
            for tool in ("bash", "dirname", "nproc", "env"):
                (tools / tool).symlink_to(shutil.which(tool))
            for tool, body in (("dpkg-query", "exit 1"), ("id", "echo 1000")):
                (tools / tool).write_text(f"#!{shutil.which('bash')}\n{body}\n")
                (tools / tool).chmod(0o755)
            result = dev("build", env={"PATH": directory})
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("missing packages: cmake ninja-build", result.stderr)
        self.assertIn("become root or install sudo", result.stderr)

    def syntax_of(self, sources):
        """`./dev build --syntax-only` where there are these sources, read by this machine's compiler."""
        with tempfile.TemporaryDirectory() as directory:
            copy, tools = Path(directory).resolve() / "copy", Path(directory) / "tools"
            build = copy / "build" / "debug"
            for folder in (build, copy / "tests", tools):
                folder.mkdir(parents=True)
            shutil.copy(ROOT / "dev", copy / "dev")
            (build / "build.ninja").touch()
            entries = []
            for name, text in sources.items():
                file = copy / name
                file.write_text(text)
                if name.startswith("together"):  # with others: one file includes it
                    file = build / "Unity" / "unity.cxx"
                    file.parent.mkdir(exist_ok=True)
                    file.write_text(f'#include "{copy / name}"\n')
                entries.append({"directory": str(build), "file": str(file),
                                "command": f"{shutil.which('c++')} -Wall -Werror -o made.o -c {file}"})
            (build / "compile_commands.json").write_text(json.dumps(entries))
            for tool in ("bash", "dirname", "nproc", "mkdir", "python3"):
                (tools / tool).symlink_to(shutil.which(tool))
            (tools / "dpkg-query").write_text(f"#!{shutil.which('bash')}\necho -n installed\n")
            (tools / "dpkg-query").chmod(0o755)
            result = subprocess.run([copy / "dev", "build", "--preset", "debug", "--syntax-only"], capture_output=True, text=True,
                                    check=False, timeout=60, env={**os.environ, "PATH": f"{tools}:/usr/bin:/bin"})
            self.assertFalse((build / "made.o").exists())
        return result

    @unittest.skipUnless(shutil.which("c++"), "there is no compiler")
    def test_syntax_only_reads_every_source_but_tests_and_makes_nothing(self):
        sound = {"a.cpp": "int a() { return 1; }\n", "tests/t.cpp": "int t() { int unused; return 1; }\n"}
        result = self.syntax_of(sound)
        self.assertEqual((result.returncode, result.stdout.splitlines()[-1]), (0, "dev: 1 sources read, 0 with warnings or errors"))
        result = self.syntax_of({**sound, "b.cpp": "int b() { int unused; return 1; }\n"})
        self.assertEqual((result.returncode, result.stdout.splitlines()[-1]), (1, "dev: 2 sources read, 1 with warnings or errors"))
        self.assertRegex(result.stdout, r"(?m)^FAILED: .*/b\.cpp$")
        self.assertIn("unused", result.stdout)
        result = self.syntax_of({**sound, "together.cpp": "int c() { int unused; return 1; }\n"})
        self.assertEqual((result.returncode, result.stdout.splitlines()[-1]), (1, "dev: 2 sources read, 1 with warnings or errors"))
        self.assertRegex(result.stdout, r"(?m)^FAILED: .*/together\.cpp$")

    def test_bench_configures_anew_so_that_libraries_installed_since_the_build_are_found(self):
        with tempfile.TemporaryDirectory() as directory:
            copy, tools = Path(directory) / "copy", Path(directory) / "tools"
            (copy / "build" / "release" / "bin").mkdir(parents=True)
            (copy / "build" / "release" / "build.ninja").touch()
            tools.mkdir()
            shutil.copy(ROOT / "dev", copy / "dev")
            for tool in ("bash", "dirname", "nproc", "mkdir"):
                (tools / tool).symlink_to(shutil.which(tool))
            told = f"{directory}/told"
            for program, body in ((tools / "dpkg-query", "echo -n installed"), (tools / "cmake", f'echo "cmake $*" >> {told}'),
                                  (copy / "build" / "release" / "bin" / "weft", f'echo "weft $*" >> {told}')):
                program.write_text(f"#!{shutil.which('bash')}\n{body}\n")
                program.chmod(0o755)
            result = subprocess.run([copy / "dev", "bench", "--brief"], capture_output=True, text=True, check=False, timeout=60,
                                    env={"PATH": str(tools)})
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            steps = Path(told).read_text().splitlines()
        self.assertEqual([step.split()[1] for step in steps], ["--preset", "--build", "perf"])


@unittest.skipUnless(shutil.which("jellyfish"), "jellyfish is not installed")
class CheckAgainstJellyfish(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.reads = Path(directory.name) / "reads.fa"
        self.reads.write_text(">a\nACGTTA\n>b\nACGTTA\n")
        self.counts = Path(directory.name) / "reads.counts"

    def check(self, counts):
        self.counts.write_text(counts)
        script = ROOT / "apps" / "kmer" / "check_against_jellyfish.py"
        return subprocess.run([sys.executable, script, "-k", "5", "--counts", self.counts, self.reads],
                              capture_output=True, text=True, check=False, timeout=60)

    def test_accepts_the_same_counts_in_any_order(self):
        result = self.check("CGTTA 2\nAACGT 2\n")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_reports_a_wrong_count_and_a_missing_k_mer(self):
        result = self.check("AACGT 3\n")
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertIn("1 lines only in", result.stdout)
        self.assertIn("2 only in jellyfish's", result.stdout)

    def test_a_missing_file_is_no_difference_but_an_error(self):
        self.reads.unlink()
        self.assertEqual(self.check("AACGT 2\n").returncode, 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
