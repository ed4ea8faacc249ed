"""./dev fuzz: lets libFuzzer try inputs on decoders for a time each. What a decoder fails on is kept, and the command fails."""

import argparse
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "fuzz"
PROGRAM = BUILD / "bin" / "fuzz" / "decoders"
CORPUS = ROOT / "tests" / "fuzz" / "corpus"
FOUND = BUILD / "found"
# An input that takes longer than this, or more memory, is a fault. Decoders take inputs of a few kilobytes.
LIMITS = ["-timeout=20", "-rss_limit_mb=1024", "-malloc_limit_mb=64", "-max_len=4096"]
# Ranks of one process end without each other where the process has no other thread, as the one of libFuzzer that watches memory.
OF_ONE_THREAD = ["-rss_limit_mb=0"]
WITH_RANKS = ("announcements", "slots")
MOST_KEPT = 200  # inputs of a decoder in the tree


def decoders():
    listed = subprocess.run([str(PROGRAM), "--list"], capture_output=True, text=True, check=True)
    return listed.stdout.split()


def environment():
    options = "detect_leaks=1:allocator_may_return_null=0"
    return {**os.environ, "ASAN_OPTIONS": options, "UBSAN_OPTIONS": "print_stacktrace=1",
            "LSAN_OPTIONS": f"print_suppressions=0:suppressions={ROOT}/tests/support/lsan.supp"}


def limits_of(name):
    return [*LIMITS, *(OF_ONE_THREAD if name in WITH_RANKS else [])]


def ready(name):
    """The folder of inputs that grows from run to run, with the seeds and what the tree has in it."""
    folder = BUILD / "corpus" / name
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([str(PROGRAM), f"--decoder={name}", f"--seeds={folder}"], check=True, env=environment())
    if (CORPUS / name).is_dir():
        for file in (CORPUS / name).iterdir():
            shutil.copy(file, folder / file.name)
    return folder


def fuzz(name, seconds):
    folder = ready(name)
    FOUND.mkdir(parents=True, exist_ok=True)
    log = BUILD / f"{name}.log"
    begun = time.monotonic()
    with open(log, "w", encoding="utf-8", errors="replace") as output:
        code = subprocess.run([str(PROGRAM), f"--decoder={name}", f"-max_total_time={seconds}", f"-artifact_prefix={FOUND}/{name}-",
                               "-print_final_stats=1", "-use_value_profile=1", *limits_of(name), str(folder)], stdin=subprocess.DEVNULL, stdout=output,
                              stderr=subprocess.STDOUT, check=False, env=environment(), cwd=BUILD).returncode
    text = log.read_text(errors="replace")
    runs = [line.split()[-1] for line in text.splitlines() if line.startswith("stat::number_of_executed_units")]
    said = f"fuzz: {name}: {runs[0] if runs else 'no'} inputs in {time.monotonic() - begun:.0f} s, {len(list(folder.iterdir()))} kept"
    if code:
        kept = [line.split()[-1] for line in text.splitlines() if "Test unit written to" in line]
        print(f"{said}: FAILED on {kept[0] if kept else 'an input'} ({log})", flush=True)
        print("\n".join(line for line in text.splitlines() if not line.startswith("#"))[-4000:], flush=True)
    else:
        print(f"{said}: nothing found", flush=True)
    return code


def merge(name):
    """The least inputs that reach what all do become those of the tree."""
    folder, least = ready(name), BUILD / "least" / name
    shutil.rmtree(least, ignore_errors=True)
    least.mkdir(parents=True)
    subprocess.run([str(PROGRAM), f"--decoder={name}", "-merge=1", *limits_of(name), str(least), str(folder)], stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, env=environment(), cwd=BUILD)
    kept = sorted(least.iterdir(), key=lambda file: (file.stat().st_size, file.name))[:MOST_KEPT]
    target = CORPUS / name
    # What a decoder has failed on once has a name of its own, and stays.
    target.mkdir(parents=True, exist_ok=True)
    for file in target.iterdir():
        if not file.name.startswith("regression-"):
            file.unlink()
    for file in kept:
        shutil.copy(file, target / file.name)
    print(f"fuzz: {name}: {len(kept)} of {len(list(folder.iterdir()))} inputs are kept in {target.relative_to(ROOT)}", flush=True)
    return 0


def main():
    parser = argparse.ArgumentParser(prog="./dev fuzz", description=__doc__)
    parser.add_argument("target", nargs="*", metavar="TARGET", help="decoders (default: all; --list names them)")
    parser.add_argument("--seconds", type=int, default=60, metavar="N", help="how long each decoder is tried (default: 60)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="how many at a time (default: one per processor)")
    parser.add_argument("--merge", action="store_true", help="do not fuzz: keep the least inputs that reach as much in tests/fuzz/corpus")
    parser.add_argument("--list", action="store_true", help="name the decoders")
    arguments = parser.parse_args()
    known = decoders()
    if arguments.list:
        print("\n".join(known))
        return 0
    for name in arguments.target:
        if name not in known:
            parser.error(f"there is no decoder '{name}' (one of: {' '.join(known)})")
    if arguments.seconds < 1 or arguments.jobs < 1:
        parser.error("--seconds and --jobs must be positive numbers")
    work = merge if arguments.merge else lambda name: fuzz(name, arguments.seconds)
    with ThreadPoolExecutor(max_workers=arguments.jobs) as pool:
        failed = [code for code in pool.map(work, arguments.target or known) if code]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
