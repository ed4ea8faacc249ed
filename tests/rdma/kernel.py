"""The kernel of the guests: Debian's package, unpacked and never installed, and a first file system with the modules that RDMA needs."""

import gzip
import os
import shutil
import stat
import subprocess
from pathlib import Path

# In this order; those that they depend on come before them.
MODULES = ["virtio_pci", "virtio_net", "9p", "9pnet_virtio", "overlay", "crc32_pclmul", "crc32_generic", "sch_netem", "ib_uverbs",
           "rdma_ucm", "rdma_rxe"]
# What they may do without: one is built in, another is for other processors.
OPTIONAL = {"crc32_pclmul", "crc32_generic"}


class Missing(Exception):
    """Something that this machine does not have."""


def run(*command, **options):
    result = subprocess.run(command, capture_output=True, text=True, **options)
    if result.returncode != 0:
        raise Missing(f"{' '.join(map(str, command))} ended with {result.returncode}: {result.stderr.strip()[-400:]}")
    return result.stdout


def unpacked_kernel(folder):
    """The folder with Debian's current kernel, which is fetched when it is not there yet."""
    folder = Path(folder)
    kernel = folder / "kernel"
    if (kernel / "complete").exists():
        return kernel
    shutil.rmtree(kernel, ignore_errors=True)
    kernel.mkdir(parents=True)
    depends = run("apt-cache", "depends", "linux-image-amd64").split()
    names = [name for name in depends if name.startswith("linux-image-") and name != "linux-image-amd64"]
    if not names:
        raise Missing("apt-cache names no package that linux-image-amd64 depends on: run apt-get update")
    run("apt-get", "download", names[0], cwd=kernel)
    package = next(kernel.glob("linux-image-*.deb"))
    run("dpkg", "-x", package.name, ".", cwd=kernel)
    package.unlink()
    run("depmod", "-b", str(kernel), version_of(kernel))
    (kernel / "complete").touch()
    return kernel


def version_of(kernel):
    return next((kernel / "lib" / "modules").iterdir()).name


def image_of(kernel):
    return next((kernel / "boot").glob("vmlinuz-*"))


def modules_of(kernel):
    """The files of all modules, in the order in which they are inserted."""
    files = []
    for module in MODULES:
        try:
            shown = run("modprobe", "-d", str(kernel), "-S", version_of(kernel), "--show-depends", module)
        except Missing:
            if module in OPTIONAL:
                continue
            raise
        for line in shown.splitlines():
            if line.startswith("insmod ") and (path := line.split()[1]) not in files:
                files.append(path)
    return files


def archive(entries):
    """A cpio archive ("newc") of the entries: (name, mode, contents)."""
    parts = []
    for number, (name, mode, contents) in enumerate([*entries, ("TRAILER!!!", 0, b"")], start=1):
        fields = [number, mode, 0, 0, 1, 0, len(contents), 0, 0, 0, 0, len(name) + 1, 0]
        head = b"070701" + b"".join(b"%08x" % field for field in fields) + name.encode() + b"\0"
        parts += [head, b"\0" * (-len(head) % 4), contents, b"\0" * (-len(contents) % 4)]
    return b"".join(parts)


def first_file_system(kernel, init, job):
    """The compressed archive from which a guest boots: busybox, the modules, `init`, and what it is to do."""
    busybox = shutil.which("busybox")
    if busybox is None:
        raise Missing("there is no busybox: install busybox-static")
    modules = modules_of(kernel)
    entries = [(name, stat.S_IFDIR | 0o755, b"") for name in ("bin", "modules", "proc", "sys", "dev", "host", "up", "root")]
    entries += [("bin/busybox", stat.S_IFREG | 0o755, Path(busybox).read_bytes()),
                ("init", stat.S_IFREG | 0o755, init.encode()), ("job", stat.S_IFREG | 0o755, job.encode()),
                ("modules/order", stat.S_IFREG | 0o644, "".join(f"/modules/{os.path.basename(path)}\n" for path in modules).encode())]
    entries += [(f"modules/{os.path.basename(path)}", stat.S_IFREG | 0o644, Path(path).read_bytes()) for path in modules]
    return gzip.compress(archive(entries), compresslevel=1)
