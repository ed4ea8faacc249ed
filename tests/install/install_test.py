"""Programs outside the tree find, link and run the installed library, in every way that the README names."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(os.environ["WEFTDEV_SOURCE_DIR"])
BUILD = Path(os.environ["WEFTDEV_BIN_DIR"]).parent
HERE = Path(__file__).resolve().parent
HANG_GUARD_S = 1800


def run(*command, **options):
    """Runs a command to its end; its output is the error when it fails."""
    words = [str(word) for word in command]
    result = subprocess.run(words, capture_output=True, text=True, timeout=HANG_GUARD_S, check=False, **options)
    if result.returncode != 0:
        raise AssertionError(f"{' '.join(words)}\nended with {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


def configure(source, build, *settings):
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    run("cmake", "-S", source, "-B", build, *generator, *launcher, "-DCMAKE_BUILD_TYPE=Release", *settings)


def compile_all(build):
    run("cmake", "--build", build, "-j", "1")  # the other tests need a processor, too


@unittest.skipIf(os.environ.get("WEFTDEV_TEST_SANITIZER"), "clients of a sanitized library need its flags; release tests this")
class InstalledLibrary(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="weft-install-")
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)
        self.prefix = self.directory / "prefix"
        self.build = self.directory / "build"

    def check_ring(self, program, weft=None, **environment):
        """The consumer works as the only rank, and as one of two."""
        variables = {**os.environ, **environment}
        self.assertIn("ring of 1: 1000 hops", run(program, env=variables))
        if weft is None:
            weft = BUILD / "bin" / "weft"
        self.assertIn("ring of 2: 2000 hops", run(weft, "run", "-n", "2", "--", program, env=variables))

    def install(self, build=BUILD):
        run("cmake", "--install", build, "--prefix", self.prefix)

    def build_with_find_package(self, *settings):
        configure(HERE / "consumer", self.build, f"-DCMAKE_PREFIX_PATH={self.prefix}", *settings)
        compile_all(self.build)
        return self.build / "consumer"

    def build_with_pkg_config(self):
        self.build.mkdir(exist_ok=True)
        pkg_config = self.pkg_config_directory()
        for program in ("consumer", "parcel"):
            run("make", "-C", HERE / "consumer", f"BUILD={self.build}", f"{self.build}/{program}",
                env={**os.environ, "PKG_CONFIG_PATH": str(pkg_config)})
        return self.build / "consumer"

    def check_parcels(self, **environment):
        """The program over weft-parcel works as the only rank, and as two."""
        variables = {**os.environ, **environment}
        self.assertEqual(run(self.build / "parcel", env=variables), "1 answers\n")
        self.assertEqual(run(BUILD / "bin" / "weft", "run", "-n", "2", "--", self.build / "parcel", env=variables), "2 answers\n")

    def pkg_config_directory(self):
        return next(self.prefix.rglob("weft.pc")).parent

    def test_find_package_gives_the_static_library(self):
        self.install()
        self.check_ring(self.build_with_find_package(), weft=self.prefix / "bin" / "weft")

    def test_a_client_of_a_compiled_layer_keeps_its_own_standard(self):
        self.install()
        configure(HERE / "layer_consumer", self.build, f"-DCMAKE_PREFIX_PATH={self.prefix}")
        compile_all(self.build)
        commands = {Path(each["file"]).name: each["command"]
                    for each in json.loads((self.build / "compile_commands.json").read_text())}
        self.assertRegex(commands["client.cpp"], r"-std=(gnu|c)\+\+17\b")
        self.assertRegex(commands["layer.cpp"], r"-std=(gnu|c)\+\+(20|2a)\b")
        self.assertNotIn(str(self.prefix), commands["client.cpp"])  # nor does it see weft's headers
        self.assertEqual(run(self.build / "client"), "2 after 1 ranks\n")
        self.assertEqual(run(self.prefix / "bin" / "weft", "run", "-n", "3", "--", self.build / "client"), "4 after 3 ranks\n")

    def test_layers_of_this_project_pass_no_standard_on(self):
        # What target_compile_features says PUBLIC reaches every client, whatever it includes: the library alone may.
        said = [line for path in sorted((SOURCE / "cmake").glob("*.cmake")) for line in path.read_text().splitlines()
                if "target_compile_features" in line and ("PUBLIC" in line or "INTERFACE" in line)]
        self.assertEqual(len(said), 1, said)

    @unittest.skipUnless(shutil.which("pkg-config") and shutil.which("make"), "pkg-config or make is missing")
    def test_pkg_config_gives_the_static_library(self):
        self.install()
        self.check_ring(self.build_with_pkg_config())
        self.check_parcels()

    @unittest.skipUnless(shutil.which("pkg-config") and shutil.which("cc"), "pkg-config or a C compiler is missing")
    def test_pkg_config_gives_the_library_for_c(self):
        self.install()
        self.build.mkdir()
        environment = {**os.environ, "PKG_CONFIG_PATH": str(self.pkg_config_directory())}
        flags = run("pkg-config", "--cflags", "--libs", "weft-c", env=environment).split()
        program = self.build / "hello"
        run("cc", "-std=c99", SOURCE / "bindings/c/examples/hello.c", *flags, "-o", program)
        libraries = next(self.prefix.rglob("libweft-c.so.0")).parent
        self.assertEqual(run(program, env={**os.environ, "LD_LIBRARY_PATH": str(libraries)}), "hello from rank 0 of 1\n")

    def test_an_installed_tree_can_be_moved(self):
        self.install()
        moved = self.directory / "moved"
        self.prefix.rename(moved)
        self.prefix = moved
        self.check_ring(self.build_with_find_package())

    def test_fetch_content_builds_the_library_alone_and_shared(self):
        # One build for two ways, since a build takes minutes: as a part of the client's, and installed from there.
        part = self.directory / "part"
        configure(HERE / "fetch_content", part, f"-DWEFTDEV_SOURCE_DIR={SOURCE}", f"-DFETCHCONTENT_SOURCE_DIR_WEFT={SOURCE}",
                  "-DBUILD_SHARED_LIBS=ON", "-DWEFT_INSTALL=ON", "-DCMAKE_CXX_FLAGS_RELEASE=-O0 -DNDEBUG",
                  "-DCMAKE_DISABLE_FIND_PACKAGE_CLI11=ON", "-DCMAKE_DISABLE_FIND_PACKAGE_fmt=ON",
                  "-DCMAKE_DISABLE_FIND_PACKAGE_Hwloc=ON", "-DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON")
        compile_all(part)
        self.check_ring(part / "consumer")
        self.assertEqual([path.name for path in part.rglob("weft*-kmer*") if path.is_file()], [])

        self.install(part)
        libraries = str(next(self.prefix.rglob("libweft.so")).parent)
        self.check_ring(self.build_with_find_package(), LD_LIBRARY_PATH=libraries)
        if shutil.which("pkg-config") and shutil.which("make"):
            (self.build / "consumer").unlink()
            self.check_ring(self.build_with_pkg_config(), LD_LIBRARY_PATH=libraries)
            self.check_parcels(LD_LIBRARY_PATH=libraries)

    def test_licence_documents_and_examples_are_installed(self):
        self.install()
        documents = next(self.prefix.rglob("LICENSE")).parent
        self.assertEqual((documents / "LICENSE").read_text(), (SOURCE / "LICENSE").read_text())
        for folder, pattern in (("docs", "*.md"), ("examples", "*.cpp")):
            installed = {path.relative_to(documents / folder) for path in (documents / folder).rglob(pattern)}
            self.assertEqual(installed, {path.relative_to(SOURCE / folder) for path in (SOURCE / folder).rglob(pattern)})
        # The links of the guide lead to what is installed.
        for page in (documents / "docs" / "guide").glob("*.md"):
            for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
                self.assertTrue((page.parent / target).exists(), f"{page.name} links to {target}")

    def test_the_installed_examples_are_a_project_of_their_own(self):
        self.install()
        mine = self.directory / "mine"
        shutil.copytree(next(self.prefix.rglob("translations.cpp")).parent, mine)
        # Whether they compile and run is asked, not how fast.
        configure(mine, self.build, f"-DCMAKE_PREFIX_PATH={self.prefix}", "-DCMAKE_CXX_FLAGS_RELEASE=-O0 -DNDEBUG")
        compile_all(self.build)
        weft = self.prefix / "bin" / "weft"
        programs = {path.name for path in self.build.glob("example-*")}
        self.assertEqual(programs, {f"example-{path.stem}" for path in (SOURCE / "examples").glob("*.cpp")})
        self.assertEqual(run(weft, "run", "-n", 3, "--", self.build / "example-ring"), "3000 hops\n")
        self.assertEqual(sorted(run(weft, "run", "-n", 2, "--", self.build / "example-translations").splitlines()),
                         ["rank 0: 0 wrong", "rank 1: 0 wrong"])

    def test_manual_pages_and_completion_lie_where_they_are_looked_for(self):
        self.install()
        pages = {path.name for path in (self.prefix / "share" / "man" / "man1").glob("*")}
        self.assertEqual(pages, {"weft.1", "weft-run.1", "weft-info.1", "weft-perf.1", "weft-study.1", "weft-kmer.1"})
        for path in ("bash-completion/completions/weft", "bash-completion/completions/weft-kmer"):
            self.assertGreater((self.prefix / "share" / path).stat().st_size, 500, path)
        if shutil.which("man"):
            text = run("man", "-l", self.prefix / "share/man/man1/weft-run.1", env={**os.environ, "MANPAGER": "cat", "TERM": "dumb"})
            self.assertIn("--timeout", text)

    def test_nothing_private_and_no_path_of_the_build_is_installed(self):
        self.install()
        headers = {path.relative_to(self.prefix / "include").as_posix() for path in (self.prefix / "include").rglob("*.h*")}
        public = {"weft-mpi/mpi_functions.h"}  # which is made of a table
        for folder, place in (("include", ""), ("bindings/c/include", ""), ("bindings/lci/include", "weft-lci"), ("bindings/mpi/include", "weft-mpi")):
            public |= {(Path(place) / path.relative_to(SOURCE / folder)).as_posix() for path in (SOURCE / folder).rglob("*.h*")}
        self.assertEqual(headers, public)
        for path in self.prefix.rglob("*"):
            is_page = path.suffix == ".1" and ".so" not in path.name
            if path.suffix in {".cmake", ".pc", ".h", ".hpp"} or is_page or path.parent.name == "completions":
                text = path.read_text()
                for foreign in (str(SOURCE), str(BUILD), str(self.prefix)):
                    self.assertNotIn(foreign, text, f"{path.name} names {foreign}")


if __name__ == "__main__":
    unittest.main(verbosity=2)
