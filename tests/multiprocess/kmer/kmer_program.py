"""Running weft-kmer on several ranks, and jellyfish as the independent counter."""

import gzip
import json
import lzma
import os
import re
import shutil
import subprocess
from pathlib import Path

BIN = Path(os.environ["WEFTDEV_BIN_DIR"])
HANG_GUARD_S = 120
FOREIGN = re.compile(r"(WEFT_(RANK|SIZE|JOB|BOOTSTRAP)|PMI.*|SLURM_.*|OMPI_.*)$")
ENVIRONMENT = {key: value for key, value in os.environ.items() if not FOREIGN.match(key)}

BOWTIE_READS = Path("/usr/share/doc/bowtie2/examples/reads")
VELVET_EXAMPLES = Path("/usr/share/doc/velvet/examples")
VELVET_PAIRS = Path("/usr/share/doc/velvet/contrib/read_prepare")


def require_packages():
    """Tests that silently compare nothing would be worse than none."""
    missing = [package for package, present in [("jellyfish", shutil.which("jellyfish")), ("gnuplot-nox", shutil.which("gnuplot")),
                                                ("bowtie2-examples", (BOWTIE_READS / "reads_1.fq.gz").exists()),
                                                ("velvet-example", (VELVET_EXAMPLES / "test_reads.fa.xz").exists())]
               if not present]
    if missing:
        raise AssertionError(f"install the Debian packages {' '.join(missing)}: the counts are compared with theirs")


def run(arguments, ranks=None, directory=None, **variables):
    """Runs weft-kmer, under `weft run` when ranks are given. A hang ends in subprocess.TimeoutExpired."""
    command = [BIN / "weft-kmer", *arguments]
    if ranks is not None:
        command = [BIN / "weft", "run", "-n", str(ranks), "--", *command]
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=HANG_GUARD_S,
                          env=ENVIRONMENT | variables, check=False, cwd=directory)


def has_network(name):
    result = subprocess.run([BIN / "weft", "info", "--json"], capture_output=True, text=True, timeout=HANG_GUARD_S,
                            env=ENVIRONMENT, check=True)
    return any(network["name"] == name and network["present"] for network in json.loads(result.stdout)["networks"])


def plain_text(path):
    """The content of a plain, gzip or xz file."""
    opener = {".gz": gzip.open, ".xz": lzma.open}.get(Path(path).suffix, open)
    with opener(path, "rb") as file:
        return file.read()


def jellyfish_counts(k, files, directory):
    """Sorted lines 'KMER COUNT' of all canonical k-mers that occur at least twice."""
    text = Path(directory, "jellyfish.input")
    database = Path(directory, "jellyfish.jf")
    with open(text, "wb") as file:
        for path in files:
            content = plain_text(path)
            file.write(content if content.endswith(b"\n") else content + b"\n")
    subprocess.run(["jellyfish", "count", "-C", "-m", str(k), "-s", "8M", "-t", "2", "-o", database, text], check=True,
                   timeout=HANG_GUARD_S)
    dump = subprocess.run(["jellyfish", "dump", "-c", "-L", "2", database], check=True, timeout=HANG_GUARD_S,
                          capture_output=True).stdout
    text.unlink()
    database.unlink()
    return sorted(dump.splitlines())


def counted_lines(prefix):
    """Sorted lines of PREFIX.counts."""
    return sorted(Path(f"{prefix}.counts").read_bytes().splitlines())
