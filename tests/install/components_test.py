"""The components `lci`, `c` and `launcher` are installed alone, moved, found by CMake and pkg-config, and programs run over them."""

import os
import re
import shutil
import tempfile
import unittest
from pathlib import Path

from install_test import BUILD, HERE, SOURCE, compile_all, configure, run


def has(target):
    return (BUILD / "lib" / f"lib{target}.so").exists()


@unittest.skipIf(os.environ.get("WEFTDEV_TEST_SANITIZER"), "clients of a sanitized library need its flags; release tests this")
class Component(unittest.TestCase):
    name = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="weft-component-")
        self.addCleanup(folder.cleanup)
        self.build = Path(folder.name) / "build"
        first, self.prefix = Path(folder.name) / "first", Path(folder.name) / "moved"
        for component in (self.name, "launcher"):
            run("cmake", "--install", BUILD, "--component", component, "--prefix", first)
        first.rename(self.prefix)
        self.libraries = next(self.prefix.rglob("libweft-*.so")).parent

    def run_on(self, ranks, program, **environment):
        return run(self.prefix / "bin" / "weft", "run", "-n", ranks, "--timeout", 200, "--", program, env={**os.environ, **environment})

    def flags(self, package):
        """What pkg-config says, with where to find the library when the program runs."""
        environment = {**os.environ, "PKG_CONFIG_PATH": str(self.libraries / "pkgconfig")}
        return [*run("pkg-config", "--cflags", "--libs", package, env=environment).split(), f"-Wl,-rpath,{self.libraries}"]


@unittest.skipUnless(has("weft-lci"), "this build has no libweft-lci")
class Lci(Component):
    name = "lci"

    def check(self, program):
        for ranks in (1, 2):
            self.assertEqual(self.run_on(ranks, program), f"{ranks + 1} after {ranks} ranks\n")
        self.assertEqual(run(self.prefix / "bin" / "lcrun", "-n", 2, program), "3 after 2 ranks\n")

    def test_holds_what_programs_need_and_nothing_else(self):
        files = {path.relative_to(self.prefix).as_posix() for path in self.prefix.rglob("*") if path.is_file()}
        others = {name for name in files if not name.startswith("include/weft-lci/")} - {"bin/weft"}
        folder = self.libraries.relative_to(self.prefix).as_posix()
        packages = {f"{folder}/cmake/LCI/{name}" for name in ("LCIConfig.cmake", "LCIConfigVersion.cmake", "LCITargets.cmake", "LCITargets-release.cmake")}
        libraries = {name for name in others if name.startswith(f"{folder}/libweft-lci.so")}
        self.assertEqual(others - libraries, packages | {f"{folder}/pkgconfig/liblci.pc", "bin/lcrun"})

    def test_cmake_finds_it_in_each_way_that_programs_have(self):
        for settings in ((f"-DCMAKE_PREFIX_PATH={self.prefix}",), ("-DHINTED=ON", f"-DLCI_ROOT={self.prefix}"), (f"-DLCI_DIR={self.libraries}/cmake/LCI",)):
            with self.subTest(settings):
                shutil.rmtree(self.build, ignore_errors=True)
                configure(HERE / "lci_consumer", self.build, *settings)
                compile_all(self.build)
                self.check(self.build / "ring")

    @unittest.skipUnless(shutil.which("pkg-config"), "pkg-config is missing")
    def test_pkg_config_finds_it(self):
        self.build.mkdir()
        sources = sorted((HERE / "lci_consumer").glob("*.cpp"))
        objects = [self.build / f"{path.stem}.o" for path in sources]
        for source, compiled in zip(sources, objects):
            run("c++", "-std=c++11", "-c", source, *self.flags("liblci"), "-o", compiled)
        run("c++", *objects, *self.flags("liblci"), "-o", self.build / "ring")
        self.check(self.build / "ring")

    def test_headers_are_clean_in_old_standards_and_for_other_compilers(self):
        self.build.mkdir()
        headers = self.build / "headers.cpp"
        headers.write_text("#include <lct.h>\n#include <lci.hpp>\n#include <lci_internal.hpp>\n")
        plain = self.build / "plain.c"
        plain.write_text("#include <lct.h>\n")
        warnings = ("-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror", "-fsyntax-only", f"-I{self.prefix}/include/weft-lci")
        for compiler in [name for name in ("g++", "clang++", "clang++-19", "clang++-16") if shutil.which(name)]:
            for standard in ("c++11", "c++14", "c++17", "c++20"):
                run(compiler, f"-std={standard}", *warnings, headers)
        run("cc", "-std=c99", *warnings, plain)

    def test_no_other_symbol_is_seen(self):
        seen = run("nm", "--dynamic", "--defined-only", "--demangle", self.libraries / "libweft-lci.so").splitlines()
        names = [line.split(maxsplit=2)[2] for line in seen]
        self.assertIn("lci::progress()", names)
        self.assertIn("LCT_init", names)
        self.assertEqual([name for name in names if not re.match(r"LCT_|((typeinfo|typeinfo name|vtable) for )?lci::", name)], [])


@unittest.skipUnless(has("weft-c"), "this build has no libweft-c")
class ForC(Component):
    name = "c"

    def check(self, folder):
        self.assertEqual(self.run_on(1, folder / "hello"), "hello from rank 0 of 1\n")
        self.run_on(3, folder / "ring")

    def test_cmake_finds_it(self):
        configure(HERE / "c_consumer", self.build, f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-DEXAMPLES={SOURCE}/bindings/c/examples")
        compile_all(self.build)
        self.check(self.build)

    @unittest.skipUnless(shutil.which("pkg-config"), "pkg-config is missing")
    def test_pkg_config_finds_it(self):
        self.build.mkdir()
        for name in ("hello", "ring"):
            run("cc", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", SOURCE / f"bindings/c/examples/{name}.c", *self.flags("weft-c"),
                "-o", self.build / name)
        self.check(self.build)


del Component  # which only the two below run

if __name__ == "__main__":
    unittest.main(verbosity=2)
