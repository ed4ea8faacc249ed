"""`weft perf --report`: a page, a table and an object, all of the same rounds."""

import csv
import json
import os
import tempfile
import unittest
import xml.dom.minidom

from perf import SHORT, perf


class ReportTest(unittest.TestCase):
    def test_a_folder_gets_a_page_with_plots_a_table_and_an_object(self):
        with tempfile.TemporaryDirectory() as folder:
            inside = os.path.join(folder, "new", "folder")
            result = perf(*SHORT, "--only", "put-rate", "--compare", "raw,weft", "--report", inside)
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
            plots = page.split("<svg")[1:]
            self.assertEqual(len(plots), 1)
            plot = xml.dom.minidom.parseString("<svg" + plots[0].split("</svg>")[0] + "</svg>")
            self.assertEqual(len(plot.getElementsByTagName("rect")), 2)
            self.assertIn("weft perf --rounds 2", page)
            self.assertIn(result.stdout.splitlines()[0].split(",")[0], page)

    def curves(self, *arguments):
        """Headings of the sections that have curves, each with how many."""
        with tempfile.TemporaryDirectory() as folder:
            result = perf("--rounds", "1", "--seconds", "0.01", *arguments, "--report", folder)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            with open(os.path.join(folder, "perf.html"), encoding="utf-8") as file:
                page = file.read()
            self.picture = None
            if os.path.exists(picture := os.path.join(folder, "message-rate.svg")):
                self.picture = xml.dom.minidom.parse(picture)
        found = {}
        for section in page.split("<h2>")[1:]:
            if "<svg" not in section:
                continue
            plot = xml.dom.minidom.parseString("<svg" + section.split("<svg", 1)[1].split("</svg>")[0] + "</svg>")
            lines = [each for each in plot.getElementsByTagName("path") if each.getAttribute("class").startswith("line ")]
            if lines:
                found[section.split("</h2>")[0]] = len(lines)
        return found

    def test_sizes_and_windows_become_curves(self):
        self.assertEqual(self.curves("--only", "matched", "--compare", "weft,weft-serial", "--size", "0,8,1K", "--window", "1,16"),
                         {"matched at window 1 against size": 2, "matched at window 16 against size": 2, "matched at 0 bytes against window": 2,
                          "matched against window": 2, "matched at 1024 bytes against window": 2})

    def test_threads_become_curves(self):
        names = "rate-threads-1/weft-am,rate-threads-2/weft-am,rate-shared-2/weft-am,threads-1/weft,threads-2/weft,shared-2/weft,pairs-1/weft-am,pairs-2/weft-am"
        self.assertEqual(self.curves("--only", names),
                         {"Message rate against threads, resources of their own": 1, "Message rate against threads, shared resources": 1,
                          "Windows against threads, resources of their own": 1, "Windows against threads, shared resources": 1,
                          "Round trips against threads, resources of their own": 1})
        self.assertTrue(self.picture.getElementsByTagName("path"), "the first as a file of its own")

    def test_a_folder_that_cannot_be_written_is_an_error_before_measuring(self):
        result = perf("--report", "/proc/nothing")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertEqual(result.stderr.count("\n"), 1)
        self.assertTrue(result.stderr.startswith("weft perf: --report /proc/nothing: "), result.stderr)


if __name__ == "__main__":
    unittest.main()
