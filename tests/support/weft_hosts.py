"""Several hosts in one: network namespaces, joined by a bridge in a namespace of its own. All of them are those of processes
that this test has started, so that nothing is left when it ends, however it ends."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from weft_job import WEFT, environment

TOOLS = ("ip", "unshare", "nsenter")


def why_not():
    """Why no namespaces can be made here; an empty text when they can."""
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    if missing:
        return f"not installed: {', '.join(missing)}"
    # What Hosts does, in a namespace that ends at once.
    made = subprocess.run(["unshare", "--net", "sh", "-ec", "ip link set lo up; ip link add bridge type bridge; "
                           "ip link add port type veth peer name eth; ip link set port master bridge up; ip addr add fd77::1/64 dev eth nodad"],
                          capture_output=True, text=True)
    return f"no network namespaces can be made: {made.stderr.strip()}" if made.returncode else ""


class Namespace:
    """A network namespace that lives as long as a process which does nothing, and which ends with this one."""

    def __init__(self):
        self.process = subprocess.Popen(["unshare", "--net", "--kill-child", "cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        own = os.stat("/proc/self/ns/net").st_ino
        until = time.monotonic() + 20
        while os.stat(f"/proc/{self.process.pid}/ns/net").st_ino == own:
            if time.monotonic() > until:
                raise RuntimeError("unshare makes no network namespace")
            time.sleep(0.001)
        self.run("ip", "link", "set", "lo", "up")

    def command(self, *command):
        return ["nsenter", f"--net=/proc/{self.process.pid}/ns/net", "--", *map(str, command)]

    def run(self, *command):
        return subprocess.run(self.command(*command), check=True, capture_output=True, text=True)

    def close(self):
        self.process.stdin.close()
        self.process.kill()
        self.process.wait()


class Hosts:
    """`count` hosts h0, h1, ... with the addresses 10.77.0.1, ... and fd77::1, ... on their interface eth0."""

    def __init__(self, count):
        self.switch = Namespace()
        self.hosts = []
        self.folder = tempfile.mkdtemp(prefix="weft-hosts-")
        try:
            self.switch.run("ip", "link", "add", "bridge", "type", "bridge", "forward_delay", "0")
            self.switch.run("ip", "link", "set", "bridge", "up")
            for number in range(count):
                self.add(number)
            self.write_starter()
        except BaseException:
            self.close()
            raise

    def add(self, number):
        host = Namespace()
        self.hosts.append(host)
        self.switch.run("ip", "link", "add", f"port{number}", "type", "veth", "peer", "name", "eth0", "netns", host.process.pid)
        self.switch.run("ip", "link", "set", f"port{number}", "master", "bridge", "up")
        host.run("ip", "address", "add", f"10.77.0.{number + 1}/24", "dev", "eth0")
        host.run("ip", "address", "add", f"fd77::{number + 1}/64", "dev", "eth0", "nodad")
        host.run("ip", "link", "set", "eth0", "up")

    def write_starter(self):
        """The command for --launcher-exec: it gets the name of a host and a command, and runs the command there."""
        self.starter = os.path.join(self.folder, "start")
        with open(self.starter, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\nhost=$1\nshift\ncase $host in\n")
            for number, host in enumerate(self.hosts):
                file.write(f"h{number}) exec nsenter --net=/proc/{host.process.pid}/ns/net -- \"$@\" ;;\n")
            file.write("*) echo \"no host $host\" >&2; exit 9 ;;\nesac\n")
        os.chmod(self.starter, 0o755)

    def names(self, slots):
        return ",".join(f"h{number}:{slots}" for number in range(len(self.hosts)))

    def launch(self, *options, **changes):
        """Starts `weft run` on h0. All ranks run on this kernel: it is the launcher that tells of several hosts."""
        return subprocess.Popen(self.hosts[0].command(WEFT, "run", "--launcher-exec", self.starter, *map(str, options)),
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="backslashreplace",
                                env=environment(**changes))

    def run(self, *options, guard=100, **changes):
        job = self.launch("--timeout", guard, *options, **changes)
        try:
            out, err = job.communicate(timeout=guard + 20)
        finally:
            job.kill()
            job.wait()
        return subprocess.CompletedProcess(job.args, job.returncode, out, err)

    def cut(self, number):
        """All packets from and to the host are lost from now on; nobody is told."""
        self.switch.run("ip", "link", "set", f"port{number}", "nomaster")

    def mend(self, number):
        self.switch.run("ip", "link", "set", f"port{number}", "master", "bridge")

    def drop(self, number, ports):
        """New connections from other hosts to these ports of the host ("LO-HI") get no answer, as behind a firewall."""
        for family in ("-4", "-6"):
            self.hosts[number].run("ip", family, "rule", "add", "pref", "100", "lookup", "local")
            self.hosts[number].run("ip", family, "rule", "delete", "pref", "0")
            self.hosts[number].run("ip", family, "rule", "add", "pref", "50", "iif", "eth0", "ipproto", "tcp", "dport", ports, "blackhole")

    def let_in(self, number):
        for family in ("-4", "-6"):
            self.hosts[number].run("ip", family, "rule", "delete", "pref", "50")
            self.hosts[number].run("ip", family, "rule", "add", "pref", "0", "lookup", "local")
            self.hosts[number].run("ip", family, "rule", "delete", "pref", "100")

    def processes(self, number):
        """The processes in the namespace of the host, but for the one that holds it."""
        holder = self.hosts[number].process.pid
        space = os.readlink(f"/proc/{holder}/ns/net")
        found = []
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/stat", encoding="utf-8") as file:
                    parent = int(file.read().rsplit(")", 1)[1].split()[1])
                if holder not in (int(name), parent) and os.readlink(f"/proc/{name}/ns/net") == space:
                    found.append(int(name))
            except OSError:
                pass  # it has ended meanwhile
        return found

    def close(self):
        for namespace in [*self.hosts, self.switch]:
            namespace.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class TestCase(unittest.TestCase):
    """Has four hosts for all of its tests; skipped where there can be none."""

    @classmethod
    def setUpClass(cls):
        reason = why_not()
        if reason:
            raise unittest.SkipTest(reason)
        cls.hosts = Hosts(4)
        cls.addClassCleanup(cls.hosts.close)


if __name__ == "__main__":
    print(why_not() or "network namespaces can be made")
    sys.exit(1 if why_not() else 0)
