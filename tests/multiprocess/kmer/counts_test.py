"""weft-kmer counts what jellyfish counts, with any number of ranks and threads."""

import json
import os
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path

import kmer_program
from kmer_program import BOWTIE_READS, VELVET_EXAMPLES, VELVET_PAIRS

SHAPES = [(1, 1), (2, 1), (1, 2), (2, 2), (4, 2)]
# A sanitizer makes everything ten times slower; it looks for races, not for k-mers.
IS_SANITIZED = bool(os.environ.get("WEFTDEV_TEST_SANITIZER"))


class Counts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        kmer_program.require_packages()
        cls.folder = tempfile.TemporaryDirectory(prefix="weft-kmer-")
        cls.prefix = Path(cls.folder.name, "out")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def count(self, k, files, ranks=2, threads=2, *options):
        result = kmer_program.run(["-k", k, "-t", threads, "-o", self.prefix, *options, *files], ranks)
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        return kmer_program.counted_lines(self.prefix)

    def expect(self, files, k_values, shapes=None, variants=((),)):
        if IS_SANITIZED:
            k_values = k_values[-1:]
        for k in k_values:
            expected = kmer_program.jellyfish_counts(k, files, self.folder.name)
            self.assertGreater(len(expected), 10)
            for ranks, threads in shapes or (SHAPES[-2:] if IS_SANITIZED else SHAPES):
                for options in variants:
                    with self.subTest(k=k, ranks=ranks, threads=threads, options=options):
                        # assertEqual on lists would print a difference of millions of lines.
                        self.assertTrue(self.count(k, files, ranks, threads, *options) == expected, "counts differ")

    def unpacked(self, path):
        target = Path(self.folder.name, Path(path).stem)
        if not target.exists():
            target.write_bytes(kmer_program.plain_text(path))
        return target

    def test_gzip_fastq_of_paired_reads(self):
        self.expect([BOWTIE_READS / "reads_1.fq.gz", BOWTIE_READS / "reads_2.fq.gz"], (21, 31, 51))

    def test_long_reads_with_every_quality_letter(self):
        self.expect([BOWTIE_READS / "longreads.fq.gz"], (31, 51), SHAPES[3:4])
        self.expect([self.unpacked(BOWTIE_READS / "longreads.fq.gz")], (51, 127), SHAPES[4:])

    def test_fasta_of_short_reads(self):
        self.expect([self.unpacked(VELVET_EXAMPLES / "test_reads.fa.xz")], (21, 31))

    def test_fasta_of_several_lines(self):
        self.expect([self.unpacked(VELVET_EXAMPLES / "test_long.fa.xz")], (21, 31, 51))

    def test_plain_and_gzip_files_together(self):
        self.expect([VELVET_PAIRS / "read1.fq.gz", self.unpacked(VELVET_PAIRS / "read2.fq.gz")], (31, 51), SHAPES[3:4])

    def test_every_way_of_exchanging_gives_the_same(self):
        variants = [("--progress", "dedicated"), ("--memory", "0"), ("--memory", "200K", "--progress", "dedicated"),
                    ("--buffer", "256"), ("--buffer", "1M"), ("--false-positives", "0.6")]
        self.expect([BOWTIE_READS / "reads_1.fq.gz"], (31,), [(1, 1), (3, 2)], variants)

    def test_every_network_gives_the_same(self):
        reads = BOWTIE_READS / "reads_1.fq.gz"
        variants = [("--network", "shm")]
        if kmer_program.has_network("ofi"):
            variants.append(("--network", "ofi"))
        self.expect([reads], (31,), [(2, 2)], variants)
        expected = kmer_program.jellyfish_counts(31, [reads], self.folder.name)
        for network in [variant[1] for variant in variants] + ["sim"]:
            with self.subTest(in_process=network):
                result = kmer_program.run(["-k", 31, "-t", 1, "-o", self.prefix, "--network", network,
                                           "--in-process", 2, reads])
                self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
                self.assertTrue(kmer_program.counted_lines(self.prefix) == expected, "counts differ")

    def test_ranks_of_two_hosts_count_the_same(self):
        if not kmer_program.has_network("mixed"):
            self.skipTest("no libfabric here")
        reads = BOWTIE_READS / "reads_1.fq.gz"
        expected = kmer_program.jellyfish_counts(31, [reads], self.folder.name)
        for hosts in ("host%r/2", "host%r%2"):
            with self.subTest(hosts=hosts):
                result = kmer_program.run(["-k", 31, "-t", 1, "-o", self.prefix, "--network", "mixed", reads], 4, WEFT_HOST_ID=hosts)
                self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
                self.assertTrue(kmer_program.counted_lines(self.prefix) == expected, "counts differ")

    def test_k_of_every_number_of_words(self):
        self.expect([BOWTIE_READS / "reads_2.fq.gz"], (3, 33, 65, 97, 127), SHAPES[3:4])

    def test_synthetic_reads(self):
        reads = Path(self.folder.name, "synthetic.fq")
        result = kmer_program.run(["synth", "--length", "200K", "--coverage", "20", "--error", "0.01", "--seed", "3", "-o", reads])
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.expect([reads], (21, 51), SHAPES[1:3])

    def test_skipping_ends_leaves_out_the_outer_kmers_of_each_read(self):
        reads = BOWTIE_READS / "reads_1.fq.gz"
        lines = kmer_program.plain_text(reads).split(b"\n")
        trimmed = Path(self.folder.name, "trimmed.fa")
        trimmed.write_bytes(b"".join(b">\n" + sequence[1:-1] + b"\n" for sequence in lines[1::4]))
        expected = kmer_program.jellyfish_counts(31, [trimmed], self.folder.name)
        self.assertTrue(self.count(31, [reads], 2, 2, "--skip-ends") == expected, "counts differ")

    def test_the_report_agrees_with_the_counts(self):
        lines = self.count(31, [BOWTIE_READS / "reads_1.fq.gz"], 2, 2)
        report = json.loads(Path(f"{self.prefix}.json").read_text())
        totals = report["totals"]
        histogram = {bin["count"]: bin["kmers"] for bin in report["histogram"]}
        self.assertEqual(totals["reads"], 10000)
        self.assertEqual(totals["kept"], len(lines))
        self.assertEqual(totals["kept_occurrences"], sum(int(line.split()[1]) for line in lines))
        self.assertEqual(sum(histogram.values()), totals["distinct"])
        self.assertEqual(sum(count * kmers for count, kmers in histogram.items()), totals["kmers"])
        self.assertGreater(totals["messages"], 0)
        self.assertEqual(xml.etree.ElementTree.parse(f"{self.prefix}.svg").getroot().tag, "{http://www.w3.org/2000/svg}svg")
        self.assertEqual(sorted(path.name for path in Path(self.folder.name).glob("out*")), ["out.counts", "out.json", "out.svg"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
