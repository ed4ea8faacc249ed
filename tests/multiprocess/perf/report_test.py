"""`weft perf --report`: a page, a table and an object, all of the same rounds."""

import csv
import json
import os
import re
import shutil
import tempfile
import unittest
import xml.dom.minidom

from perf import SHORT, perf
from weft_job import thorough


def tables(page):
    """Headings of the sections with figures, each with the cells of its table."""
    found = []
    # Other tables follow, such as those of rounds in another state of the machine.
    for section in re.findall("<section>(.*?)</section>", page, re.S):
        heading = re.search("<h2>(.*?)</h2>", section)[1]
        rows = re.findall("<tr>(.*?)</tr>", section, re.S)
        found.append((heading, [[cell.strip() for cell in re.split("<t[hd][^>]*>", row)[1:]] for row in rows]))
    return found


def charts(page):
    """Descriptions of the charts; none when weft was built without the library that draws them."""
    found = [json.loads(each) for each in re.findall('<script type="application/json">(.*?)</script>', page, re.S)]
    assert len(found) in (0, page.count("<section>")), len(found)
    return found


class ReportTest(unittest.TestCase):
    def test_a_folder_gets_a_page_with_plots_a_table_and_an_object(self):
        with tempfile.TemporaryDirectory() as folder:
            inside = os.path.join(folder, "new", "folder")
            result = perf(*SHORT, "--only", "put-rate", "--compare", "bare-memory,weft", "--report", inside)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertEqual(sorted(os.listdir(inside)), ["perf.csv", "perf.html", "perf.json"])
            with open(os.path.join(inside, "perf.csv"), newline="", encoding="utf-8") as file:
                rows = list(csv.DictReader(file))
            with open(os.path.join(inside, "perf.json"), encoding="utf-8") as file:
                measurements = json.load(file)["measurements"]
            self.assertEqual([(row["transport"], float(row["value"])) for row in rows],
                             [(each["name"].split("/")[1], one["value"]) for each in measurements for one in each["rounds"]])
            with open(os.path.join(inside, "perf.html"), encoding="utf-8") as file:
                page = file.read()
            (heading, rows), = tables(page)
            self.assertEqual((heading, [row[0] for row in rows]), ("put-rate", ["library", "bare memory", "weft"]))
            for chart in charts(page):
                self.assertEqual((chart["form"], [each["name"] for each in chart["series"]]), ("bars", ["bare machine", "weft"]))
            self.assertIn(f"<code>weft perf --rounds 2 --seconds 0.01 --only put-rate --compare bare-memory,weft --report {inside}</code>", page)
            self.assertRegex(page, r"<br>\d{1,2} \w+ 20\d\d \d\d:\d\d UTC; weft \d[^,]*, (g\+\+|clang\+\+) \d[^;]*; "
                             + re.escape(f"{os.uname().sysname} {os.uname().release} on {os.uname().machine}"))
            self.assertIn(result.stdout.splitlines()[0].split(",")[0], page)

    def curves(self, *arguments):
        """Headings of the sections with curves, each with how many."""
        with tempfile.TemporaryDirectory() as folder:
            result = perf("--rounds", "1", "--seconds", "0.01", *arguments, "--report", folder)
            self.assertEqual(result.returncode, 0)
            self.said = result.stderr
            with open(os.path.join(folder, "perf.html"), encoding="utf-8") as file:
                page = file.read()
            picture = os.path.join(folder, "message-rate.svg")
            self.picture = xml.dom.minidom.parse(picture) if os.path.exists(picture) else None
        found = {heading: len(rows[0]) - 1 for heading, rows in tables(page) if rows[0][0] != "library"}
        if drawn := charts(page):
            self.assertEqual({chart["title"]: len(chart["series"]) for chart in drawn if chart["form"] == "lines"}, found)
        return found

    def test_sizes_and_windows_become_curves(self):
        self.assertEqual(self.curves("--only", "matched", "--compare", "weft,weft-serial", "--size", "0,8,1K", "--window", "1,16"),
                         {"matched at window 1 against size": 2, "matched at window 16 against size": 2, "matched at 0 bytes against window": 2,
                          "matched against window": 2, "matched at 1024 bytes against window": 2})

    @thorough
    def test_threads_become_curves(self):
        names = "rate-threads-1/weft-am,rate-threads-2/weft-am,rate-shared-2/weft-am,threads-1/weft,threads-2/weft,shared-2/weft,pairs-1/weft-am,pairs-2/weft-am"
        self.assertEqual(self.curves("--only", names),
                         {"Message rate against threads, resources of their own": 1, "Message rate against threads, shared resources": 1,
                          "Windows against threads, resources of their own": 1, "Windows against threads, shared resources": 1,
                          "Round trips against threads, resources of their own": 1})
        if shutil.which("gnuplot", path="/usr/bin:/bin"):
            self.assertEqual(self.said, "")
            self.assertTrue(self.picture.getElementsByTagName("path"), "the first as a file of its own")
        else:
            self.assertRegex(self.said, r"^weft perf: .*/message-rate.svg is left out: gnuplot is not installed\n$")

    def test_a_folder_that_cannot_be_written_is_an_error_before_measuring(self):
        result = perf("--report", "/proc/nothing")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertEqual(result.stderr.count("\n"), 1)
        self.assertTrue(result.stderr.startswith("weft perf: --report /proc/nothing: "), result.stderr)


if __name__ == "__main__":
    unittest.main()
