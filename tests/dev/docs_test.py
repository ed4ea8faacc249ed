"""The reference that `./dev docs` makes: the guide is among its pages, classes are found by the names that programs use, no link is dead."""

import html
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(os.environ["WEFTDEV_SOURCE_DIR"])
# Links to files below the folder of the pages; their anchors are left off.
LINK = re.compile(r'(?:href|src)="(?![a-z]+:)([^"#]+)(?:#[^"]*)?"')


def text_of(page):
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", page)))


@unittest.skipUnless(shutil.which("doxygen"), "doxygen is not installed; `./dev docs` installs it, and .ci/run begins with it")
class Reference(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory(prefix="weft-docs-")
        cls.addClassCleanup(directory.cleanup)
        settings = (ROOT / "docs" / "Doxyfile").read_text() + f"\nOUTPUT_DIRECTORY = {directory.name}\n"
        cls.result = subprocess.run(["doxygen", "-"], input=settings, capture_output=True, text=True, check=False, timeout=600, cwd=ROOT)
        cls.pages = {path.name: path.read_text() for path in (Path(directory.name) / "html").glob("*.html")}
        cls.files = {path.relative_to(Path(directory.name) / "html").as_posix()
                     for path in (Path(directory.name) / "html").rglob("*")}

    def test_is_made_without_a_warning(self):
        self.assertEqual((self.result.returncode, self.result.stdout + self.result.stderr), (0, ""))

    def test_the_main_page_is_the_front_page(self):
        text = text_of(self.pages["index.html"])
        self.assertIn("weft is a C++20 library", text)
        self.assertIn("weft::Runtime runtime;", text)

    def test_every_page_of_the_guide_is_a_page(self):
        for page in (ROOT / "docs" / "guide").glob("*.md"):
            self.assertIn(f"md_docs_guide_{page.stem.replace('-', '_')}.html".lower(),
                          {name.replace("-", "_").lower() for name in self.pages})
        self.assertIn("Guide", text_of(self.pages["pages.html"]))

    def test_classes_are_listed_by_the_names_that_programs_use(self):
        listed = text_of(self.pages["annotated.html"])
        for name in ("Runtime", "Endpoint", "SerialEndpoint", "CompletionQueue", "Collective", "Stream"):
            self.assertRegex(listed, rf" C {name} ")
        self.assertNotIn(" N detail", listed)
        self.assertIn("post_send", text_of(self.pages["classweft_1_1SerialEndpoint.html"]))

    def test_no_link_is_dead_and_no_page_names_a_path_of_this_machine(self):
        dead = {link: name for name, page in self.pages.items() for link in map(html.unescape, LINK.findall(page))
                if link not in self.files}
        self.assertEqual(dead, {})
        self.assertEqual([name for name, page in self.pages.items() if str(ROOT) in page], [])

    def test_no_page_shows_the_marks_of_a_language_that_was_not_understood(self):
        for mark in ("&lt;tt&gt;", "&lt;strong&gt;", "@ref "):
            self.assertEqual([name for name, page in self.pages.items() if name.startswith("md_") and mark in page], [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
