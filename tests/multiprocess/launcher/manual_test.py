"""Manual pages and shell completion, which the programs write of the options that they parse."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from launcher import HANG_GUARD, environment

BIN = Path(os.environ["WEFTDEV_BIN_DIR"])
COMMANDS = [["weft"], ["weft", "run"], ["weft", "info"], ["weft", "perf"], ["weft", "study"], ["weft-kmer"]]
OPTION = re.compile(r"(?<![\w-])--?[a-z][a-z-]*(?=[ ,\n]|$)")


def output(command, *arguments):
    result = subprocess.run([BIN / command[0], *command[1:], *arguments], capture_output=True, text=True, timeout=HANG_GUARD,
                            env=environment())
    if result.returncode != 0 or result.stderr:
        raise AssertionError(f"{command} {arguments} ended with {result.returncode}: {result.stderr}")
    return result.stdout


def options_of(command):
    """The options that --help lists at the beginnings of lines."""
    lines = [line for line in output(command, "--help").splitlines() if re.match(r"  -", line)]
    return {name for line in lines for name in OPTION.findall(line[:40])}


def commands():
    return [command for command in COMMANDS if (BIN / command[0]).exists()]


class ManualPages(unittest.TestCase):
    def test_each_has_every_option_and_the_usual_sections(self):
        for command in commands():
            with self.subTest(command=command):
                page = output(command, "--manual")
                for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "SEE ALSO"):
                    self.assertEqual(page.count(f"\n.SH {section}\n"), 1, section)
                self.assertTrue(page.startswith(f".TH {'-'.join(command).upper()} 1 ".replace("-", "\\-")), page[:40])
                for option in options_of(command) if len(command) > 1 else ("--help",):
                    self.assertIn(option.replace("-", "\\-"), page)

    def test_the_page_of_weft_has_every_variable(self):
        page = output(["weft"], "--manual")
        variables = re.findall(r'"variable": "(WEFT_\w+)"', output(["weft", "info"], "--json"))
        self.assertGreater(len(variables), 50)
        for variable in variables:
            self.assertIn(f".B {variable}\n", page)

    @unittest.skipUnless(shutil.which("groff"), "groff is missing")
    def test_groff_has_no_complaint(self):
        for command in commands():
            result = subprocess.run(["groff", "-man", "-ww", "-Tutf8"], input=output(command, "--manual"), capture_output=True,
                                    text=True, timeout=HANG_GUARD)
            self.assertEqual((result.returncode, result.stderr), (0, ""), command)
            self.assertIn("EXIT STATUS", re.sub(r"\x1b\[[0-9;]*m|.\x08", "", result.stdout))


@unittest.skipUnless(shutil.which("bash"), "bash is missing")
class Completion(unittest.TestCase):
    def complete(self, line):
        """What bash offers at the end of a command line."""
        words = line.split(" ")
        script = output([words[0]], "--completion", "bash")
        with tempfile.TemporaryDirectory(prefix="weft-completion-") as folder:
            Path(folder, "reads.fq").write_text("")
            Path(folder, "folder").mkdir()
            ask = f"""
                compopt() {{ :; }}
                {script}
                COMP_WORDS=({' '.join(f"'{word}'" for word in words)}) COMP_CWORD={len(words) - 1}
                _{words[0].replace('-', '_')}_of_program
                printf '%s\\n' "${{COMPREPLY[@]}}"
            """
            result = subprocess.run(["bash", "--norc"], input=ask, capture_output=True, text=True, timeout=HANG_GUARD, cwd=folder)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout.split()

    def test_commands_and_their_options_are_offered(self):
        self.assertEqual(set(self.complete("weft ")) & {"run", "info", "perf", "study"}, {"run", "info", "perf", "study"})
        self.assertEqual(self.complete("weft stu"), ["study"])
        self.assertEqual(self.complete("weft run --time"), ["--timeout"])
        self.assertEqual(set(self.complete("weft perf --")), {name for name in options_of(["weft", "perf"]) if name[:2] == "--"})
        self.assertIn("--tree", self.complete("weft study uts --t"))
        self.assertEqual(self.complete("weft study u"), ["uts"])

    def test_values_are_offered_by_their_kind(self):
        self.assertEqual(self.complete("weft run --bind "), ["core", "node", "none"])
        self.assertEqual(self.complete("weft run -n 2 --bind no"), ["node", "none"])
        self.assertEqual(self.complete("weft run --timeout "), [])
        self.assertEqual(self.complete("weft run --hostfile re"), ["reads.fq"])
        self.assertEqual(self.complete("weft perf --report "), ["folder"])

    def test_what_follows_a_program_is_not_ours(self):
        self.assertEqual(self.complete("weft run -n 2 cat --time"), [])
        self.assertEqual(self.complete("weft run -n 2 -- cat re"), ["reads.fq"])

    @unittest.skipUnless((BIN / "weft-kmer").exists(), "weft-kmer is not built")
    def test_weft_kmer_takes_files_options_and_a_command(self):
        self.assertEqual(self.complete("weft-kmer -k 31 re"), ["reads.fq"])
        self.assertEqual(self.complete("weft-kmer --progress "), ["workers", "dedicated"])
        self.assertEqual(self.complete("weft-kmer synth --cov"), ["--coverage"])

    def test_scripts_are_read_by_the_shell(self):
        for program in {command[0] for command in commands()}:
            result = subprocess.run(["bash", "-n"], input=output([program], "--completion", "bash"), capture_output=True, text=True,
                                    timeout=HANG_GUARD)
            self.assertEqual((result.returncode, result.stderr), (0, ""), program)

    def test_an_unknown_shell_is_refused(self):
        for arguments in (("csh",), ("zsh",), ()):
            result = subprocess.run([BIN / "weft", "--completion", *arguments], capture_output=True, text=True, timeout=HANG_GUARD,
                                    env=environment())
            self.assertEqual((result.returncode, result.stdout), (2, ""))
            self.assertIn("--completion needs the name of a shell, which is bash", result.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
