"""What weft-kmer cannot use ends it on all ranks, with one clear line, no output file and no hang."""

import gzip
import os
import tempfile
import unittest
from pathlib import Path

import kmer_program

FASTQ = "".join(f"@r{i}\n{'ACGTTGCAAC' * 10}\n+\n{'I' * 100}\n" for i in range(3000))


class Errors(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="weft-kmer-")
        self.path = Path(self.folder.name)
        (self.path / "good.fq").write_text(FASTQ)
        (self.path / "good.fq.gz").write_bytes(gzip.compress(FASTQ.encode()))

    def tearDown(self):
        self.folder.cleanup()

    def expect(self, message, *arguments, ranks=2, code=1):
        """One line of the program's own with `message`; the launcher may add its word about the failed rank."""
        before = sorted(path.name for path in self.path.iterdir())
        for threads in (1, 3):
            with self.subTest(message=message, ranks=ranks, threads=threads):
                result = kmer_program.run([*arguments, "-t", threads], ranks, self.path)
                self.assertEqual(result.returncode, code, result.stderr)
                lines = [line for line in result.stderr.splitlines() if not line.startswith("weft run: ")]
                self.assertEqual(len(lines), 1, result.stderr)
                self.assertIn(message, lines[0])
                self.assertTrue(lines[0].startswith("weft-kmer: error: "), lines[0])
                self.assertEqual(result.stdout, "")
                self.assertEqual(sorted(path.name for path in self.path.iterdir()), before)

    def test_missing_file(self):
        self.expect("missing.fq: cannot be read: No such file or directory", "-k", 31, "-o", "out", "good.fq", "missing.fq")

    def test_directory(self):
        (self.path / "folder").mkdir()
        self.expect("folder: is a directory", "-k", 31, "-o", "out", "folder")

    def test_named_pipe(self):
        os.mkfifo(self.path / "pipe")
        self.expect("pipe: is not a regular file", "-k", 31, "-o", "out", "pipe")

    def test_neither_fasta_nor_fastq(self):
        (self.path / "text").write_text("hello\n")
        self.expect("text: neither FASTA nor FASTQ", "-k", 31, "-o", "out", "text")

    def test_broken_gzip(self):
        data = (self.path / "good.fq.gz").read_bytes()
        (self.path / "short.fq.gz").write_bytes(data[:-20])
        self.expect("short.fq.gz: broken gzip data", "-k", 31, "-o", "out", "good.fq", "short.fq.gz")
        (self.path / "flipped.fq.gz").write_bytes(data[:-6] + bytes([data[-6] ^ 1]) + data[-5:])
        self.expect("flipped.fq.gz: broken gzip data", "-k", 31, "-o", "out", "flipped.fq.gz", "good.fq.gz")

    def test_truncated_record(self):
        (self.path / "short.fq").write_text(FASTQ[:-60])
        self.expect("short.fq:12000: truncated record: the file ends after 41 of 100 qualities", "-k", 31, "-o", "out", "short.fq")
        (self.path / "short.fq.gz").write_bytes(gzip.compress(FASTQ[:-105].encode()))
        self.expect("short.fq.gz:11997: truncated record: the file ends within it", "-k", 31, "-o", "out", "short.fq.gz")

    def test_wrong_letters(self):
        (self.path / "letter.fq").write_text(FASTQ[:300000] + FASTQ[300000:].replace("CAACA", "CA*CA", 1))
        self.expect(": '*' is not a nucleotide letter", "-k", 31, "-o", "out", "good.fq", "letter.fq")
        (self.path / "letter.fa").write_text(">a\n" + "ACGT\n" * 1000 + "AC-T\n")
        self.expect("letter.fa:1002: '-' is not a nucleotide letter", "-k", 31, "-o", "out", "letter.fa", ranks=4)

    def test_bad_k(self):
        self.expect("-k 4: expected an odd number", "-k", 4, "-o", "out", "good.fq", code=2)
        for k in ("129", "0", "abc", "3x", "1.5", "99999999999999999999"):
            self.expect(f"-k {k} is not valid: it must be an integer from 1 to 127", "-k", k, "-o", "out", "good.fq", code=2)

    def test_bad_values_of_other_options(self):
        for option, value, right in (("--in-process", "two", "an integer from 2 to 64"), ("--progress", "some", "workers or dedicated"),
                                     ("--network", "smoke", "auto, shm, ofi, ibv, mixed, tcp or sim"),
                                     ("--false-positives", "much", "a number from 0.0001 to 0.9")):
            self.expect(f"{option} {value} is not valid: it must be {right}", "-k", 31, "-o", "out", option, value, "good.fq", code=2)

    def test_what_is_missing(self):
        self.expect("-k K is missing: Length of the k-mers", "-o", "out", "good.fq", code=2)
        self.expect("FILES is missing: FASTA or FASTQ files", "-k", 31, "-o", "out", code=2)

    def test_the_same_file_twice(self):
        os.symlink("good.fq", self.path / "link.fq")
        self.expect("good.fq: the same file is given twice; its reads would be counted twice",
                    "-k", 31, "-o", "out", "good.fq", "good.fq.gz", "good.fq", code=2)
        self.expect("link.fq: the same file is given twice, as good.fq as well", "-k", 31, "-o", "out", "good.fq", "link.fq", code=2)

    def test_k_longer_than_every_read(self):
        self.expect("-k 101: longer than every read (the longest has 100 bases)", "-k", 101, "-o", "out", "good.fq")

    def test_no_reads(self):
        (self.path / "empty.fa").write_text("")
        self.expect("empty.fa: no reads", "-k", 31, "-o", "out", "empty.fa")

    def test_unknown_option(self):
        self.expect("there is no option --nonsense", "-k", 31, "-o", "out", "--nonsense", "good.fq", code=2)
        self.expect("there is no option --skip-end: did you mean --skip-ends?", "-k", 31, "-o", "out", "--skip-end", "good.fq", code=2)

    def test_outputs_that_cannot_be_written(self):
        self.expect("nowhere/out.counts: cannot be written: No such file or directory", "-k", 31, "-o", "nowhere/out", "good.fq")

    def test_outputs_that_would_destroy_something(self):
        (self.path / "in.counts").write_text(FASTQ)
        self.expect("in.counts: is the input in.counts", "-k", 31, "-o", "in", "in.counts")
        (self.path / "mine.svg").write_text("precious")
        self.expect("mine.svg: exists, and no mine.json tells that weft-kmer wrote it", "-k", 31, "-o", "mine", "good.fq")
        self.assertEqual((self.path / "mine.svg").read_text(), "precious")

    def test_a_second_run_replaces_the_outputs_of_the_first(self):
        for _ in range(2):
            result = kmer_program.run(["-k", 31, "-o", "out", "-t", 1, "good.fq"], 2, self.path)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(sorted(path.name for path in self.path.glob("out*")), ["out.counts", "out.json", "out.svg"])

    def test_without_gnuplot_there_is_no_picture_and_a_line_says_so(self):
        (self.path / "empty").mkdir()
        for folder in (os.environ["PATH"], str(self.path / "empty")):
            result = kmer_program.run(["-k", 31, "-o", "out", "-t", 1, "good.fq"], None, self.path, PATH=folder)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(result.stdout.splitlines()[-1], "wrote out.counts and out.json; no out.svg: gnuplot is not installed")
        self.assertEqual(sorted(path.name for path in self.path.glob("out*")), ["out.counts", "out.json"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
