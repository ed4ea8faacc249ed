"""Virtual machines with soft-RoCE: real verbs without RDMA hardware. Slow, and right."""

import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import kernel

HERE = Path(__file__).resolve().parent
ENDED = re.compile(r"^guest: ended with (\d+)\s*$", re.MULTILINE)


def missing():
    """What this machine lacks for guests; an empty text when it has everything."""
    for program, package in (("qemu-system-x86_64", "qemu-system-x86"), ("busybox", "busybox-static"), ("modprobe", "kmod"),
                             ("rdma", "iproute2"), ("setpriv", "util-linux"), ("dpkg", "dpkg")):
        if shutil.which(program) is None and not Path("/sbin", program).exists():
            return f"{program} is missing (package {package})"
    return ""


def end_on_signals():
    """Lets SIGTERM end this program as an interrupt does, so that its guests are closed."""
    def interrupt(number, _):
        # Anything else would end only the test that runs now.
        raise KeyboardInterrupt(f"ended by signal {number}")

    signal.signal(signal.SIGTERM, interrupt)


class Guest:
    """One machine, from its start to its end. Its files are those of this machine, which it cannot change. It ends with this process,
    however that ends."""

    def __init__(self, folder, job, number=1, memory_mib=2048, link=None):
        """`job`: a script for bash. `number`: 1 or 2. `link`: options of qemu's socket network, to be with another guest."""
        unpacked = kernel.unpacked_kernel(folder)
        self.work = tempfile.TemporaryDirectory(prefix="weft-guest-")
        archive = Path(self.work.name) / "initrd"
        archive.write_bytes(kernel.first_file_system(unpacked, (HERE / "init.sh").read_text(), job))
        network = f"socket,id=net,{link}" if link else "user,id=net,restrict=on"
        self.lines = []
        self.changed = threading.Condition()
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", str(memory_mib), "-M", "q35",
             "-nodefaults", "-display", "none", "-serial", "stdio", "-no-reboot",
             "-kernel", str(kernel.image_of(unpacked)), "-initrd", str(archive),
             # A busy machine interrupts a guest too late for its kernel's check of the timer, which would give up.
             "-append", f"console=ttyS0 quiet panic=-1 no_timer_check guest.address=10.0.5.{number} guest.name=guest{number}",
             "-fsdev", "local,id=root,path=/,security_model=none,readonly=on,multidevs=remap",
             "-device", "virtio-9p-pci,fsdev=root,mount_tag=root",
             "-netdev", network, "-device", f"virtio-net-pci,netdev=net,mac=52:54:00:12:34:5{number}"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", bufsize=1)
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            line = line.rstrip("\r\n")
            if line.startswith("check: "):
                print(line, flush=True)  # for who waits
            with self.changed:
                self.lines.append(line)
                self.changed.notify_all()
        with self.changed:
            self.lines.append("guest: gone")
            self.changed.notify_all()

    def output(self):
        with self.changed:
            return "\n".join(self.lines) + "\n"

    def wait_line(self, text, limit_s):
        """Waits for a line with this text. Returns whether it came."""
        end = time.monotonic() + limit_s
        with self.changed:
            while not any(text in line for line in self.lines):
                if time.monotonic() >= end or "guest: gone" in self.lines[-1:]:
                    return False
                self.changed.wait(max(0.0, end - time.monotonic()))
        return True

    def wait(self, limit_s):
        """Waits for the end of the job. Returns its exit code, or None when it has not come to one in time."""
        try:
            self.process.wait(limit_s)
        except subprocess.TimeoutExpired:
            pass
        self.close()
        found = ENDED.search(self.output())
        return int(found.group(1)) if found else None

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.reader.join()
        self.process.stdout.close()
        self.work.cleanup()


def free_port():
    """A port on loopback that nobody has now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def default_folder():
    return Path(os.environ.get("WEFTDEV_RDMA_DIR", HERE.parent.parent / "build" / "rdma"))
