"""The rules for commits: each can be reviewed and bisected by a stranger. `commits.py [BASE]` checks those after BASE, or after where this
branch left origin/main."""

import re
import subprocess
import sys

LONGEST_SUBJECT = 72
MOST_LINES = 600
UNFINISHED = re.compile(r"\b(wip\d*|fixup!|squash!|amend!|tmp|temp commit)", re.IGNORECASE)
# Words that end as a participle and are none.
IMPERATIVES = {"embed", "exceed", "feed", "need", "proceed", "seed", "shed", "speed", "succeed", "bring", "ring", "string", "ping", "swing"}


def git(root, *words):
    return subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=True).stdout


def faults_of_subject(subject):
    faults = []
    if len(subject) > LONGEST_SUBJECT:
        faults.append(f"its subject has {len(subject)} characters, more than {LONGEST_SUBJECT}")
    if UNFINISHED.search(subject):
        faults.append("its subject says that it is not finished: join it with the commit that finishes it")
    # One word before a colon is where: "dev: check commits". Of more words before it, who knows.
    what = re.sub(r"^\S+: ", "", subject).split(" ", 1)[0].lower()
    if ": " in subject and not re.match(r"\S+: ", subject):
        what = ""
    if re.fullmatch(r"[a-z]+(ed|ing)", what) and what not in IMPERATIVES:
        faults.append(f"its subject says '{what}': write what it does as an order ('add', not 'added' or 'adding')")
    return faults


def changed_lines(root, commit):
    """The lines that a commit adds and removes; of a file that is moved, those that change, and of one that goes, none."""
    lines = 0
    for row in git(root, "show", "--numstat", "--format=", "-M40%", "-l0", "--diff-filter=d", commit).splitlines():
        added, removed, _ = row.split("\t", 2)
        if added != "-":
            lines += int(added) + int(removed)
    return lines


def check(root, base):
    """One line for each rule that a commit after `base` breaks."""
    faults = []
    for row in git(root, "log", "--reverse", "--no-merges", "--format=%h %s", f"{base}..HEAD").splitlines():
        commit, subject = row.split(" ", 1)
        of_this = faults_of_subject(subject)
        if (lines := changed_lines(root, commit)) > MOST_LINES:
            of_this.append(f"it changes {lines} lines, more than {MOST_LINES}, moves apart: cut it")
        faults += [f"{commit} \"{subject}\": {fault}" for fault in of_this]
    return faults


def main():
    root = git(".", "rev-parse", "--show-toplevel").strip()
    base = sys.argv[1] if len(sys.argv) > 1 else "origin/main"
    known = subprocess.run(["git", "-C", root, "merge-base", base, "HEAD"], capture_output=True, text=True, check=False)
    if known.returncode != 0:
        if len(sys.argv) > 1:
            sys.exit(f"check: there is no commit '{base}' before this one")
        print("check: commits are not looked at, since there is no origin/main: name where they begin with --since COMMIT")
        return
    faults = check(root, known.stdout.strip())
    print("\n".join(f"check: commit {fault}" for fault in faults))
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
