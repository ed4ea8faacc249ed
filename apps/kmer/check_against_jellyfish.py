#!/usr/bin/env python3
"""Checks the counts that weft-kmer wrote against jellyfish, an independent k-mer counter.

Prints one line and exits with 0 when both files hold the same k-mers with the same counts, with 1 when they differ (the
first differences are shown), with 2 when the comparison could not be made.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SHOWN = 10


class Unable(Exception):
    """The comparison could not be made."""


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("-k", type=int, required=True, help="length of the k-mers")
    parser.add_argument("--counts", type=Path, required=True, help="PREFIX.counts, lines of KMER COUNT in any order")
    parser.add_argument("--lower", type=int, default=2, help="smallest count that is kept (default 2)")
    parser.add_argument("--threads", type=int, default=2, help="threads of jellyfish (default 2)")
    parser.add_argument("--hash-size", default="10M", help="initial hash size of jellyfish, which grows (default 10M)")
    parser.add_argument("files", nargs="+", type=Path, help="the reads: FASTA or FASTQ, plain or gzip")
    return parser.parse_args()


def is_gzip(path):
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


def jellyfish_dump(options, directory):
    """Counts with jellyfish; returns the path of its dump."""
    unpackers, inputs = [], []
    for path in options.files:
        if is_gzip(path):
            unpackers.append(subprocess.Popen(["gzip", "-dc", str(path)], stdout=subprocess.PIPE))
            inputs.append(f"/dev/fd/{unpackers[-1].stdout.fileno()}")
        else:
            inputs.append(str(path))
    database, dump = directory / "counts.jf", directory / "jellyfish.txt"
    count = subprocess.run(
        ["jellyfish", "count", "-C", "-m", str(options.k), "-s", options.hash_size, "-t", str(options.threads),
         "-L", str(options.lower), "-o", str(database), *inputs],
        pass_fds=[unpacker.stdout.fileno() for unpacker in unpackers], check=False)
    for unpacker in unpackers:
        unpacker.stdout.close()
        if unpacker.wait() != 0 and count.returncode == 0:
            raise Unable(f"gzip failed: {' '.join(unpacker.args)}")
    if count.returncode != 0:
        raise Unable(f"jellyfish count failed with exit code {count.returncode}")
    subprocess.run(["jellyfish", "dump", "-c", "-L", str(options.lower), "-o", str(dump), str(database)], check=True)
    return dump


def sorted_lines(path, directory, name):
    out = directory / name
    subprocess.run(["sort", "-S", "25%", "-T", str(directory), "-o", str(out), str(path)], check=True,
                   env={**os.environ, "LC_ALL": "C"})
    return out


def differences(ours, theirs):
    """Lines of only one of two sorted files: a count of each kind, and the first few of them."""
    process = subprocess.Popen(["comm", "-3", str(ours), str(theirs)], stdout=subprocess.PIPE, text=True,
                               env={**os.environ, "LC_ALL": "C"})
    only_ours = only_theirs = 0
    shown = []
    for line in process.stdout:
        who = "jellyfish" if line.startswith("\t") else "weft-kmer"
        only_theirs += who == "jellyfish"
        only_ours += who == "weft-kmer"
        if len(shown) < SHOWN:
            shown.append(f"  only {who}: {line.strip()}")
    if process.wait() != 0:
        raise Unable("comm failed")
    return only_ours, only_theirs, shown


def main():
    options = arguments()
    if not shutil.which("jellyfish"):
        raise Unable("jellyfish is not installed (Debian package jellyfish)")
    for path in [options.counts, *options.files]:
        if not path.is_file():
            raise Unable(f"{path} is not a file")
    with tempfile.TemporaryDirectory(prefix="weft-kmer-check-") as name:
        directory = Path(name)
        theirs = sorted_lines(jellyfish_dump(options, directory), directory, "theirs")
        ours = sorted_lines(options.counts, directory, "ours")
        only_ours, only_theirs, shown = differences(ours, theirs)
        with theirs.open("rb") as file:
            count = sum(1 for _ in file)
    if only_ours or only_theirs:
        print(f"check: DIFFERENT from jellyfish: {only_ours} lines only in {options.counts}, {only_theirs} only in jellyfish's")
        print("\n".join(shown))
        return 1
    print(f"check: equal to jellyfish (k = {options.k}, {count} k-mers with count >= {options.lower})")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (Unable, subprocess.CalledProcessError, OSError) as error:
        print(f"check: not made: {error}", file=sys.stderr)
        sys.exit(2)
