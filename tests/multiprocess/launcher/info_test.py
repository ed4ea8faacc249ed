"""`weft info`."""

import json
import os
import subprocess
import unittest
from pathlib import Path

from launcher import HANG_GUARD, WEFT, environment


def info(*arguments, **env):
    return subprocess.run([WEFT, "info", *arguments], capture_output=True, text=True, timeout=HANG_GUARD,
                          env=environment(**env))


class InfoTest(unittest.TestCase):
    def test_the_table_has_version_build_host_networks_and_attributes(self):
        result = info()
        self.assertEqual(result.returncode, 0, result.stderr)
        for part in ("weft ", "build", "host", "networks", "algorithms of collectives", "attributes", "WEFT_PACKET_SIZE", "\n  ibv "):
            self.assertIn(part, result.stdout)

    def test_the_table_fits_100_columns_whatever_the_values_are(self):
        for variables in ({}, {"WEFT_TRACE": "/a/long/folder" * 12, "WEFT_HOST_ID": "name" * 8, "WEFT_SEGMENT_SIZE": "1023G"}):
            result = info(**variables)
            self.assertEqual([line for line in result.stdout.splitlines() if len(line) > 100], [])
            self.assertIn(variables.get("WEFT_HOST_ID", ""), result.stdout)
        self.assertEqual([line for name in ("network", "rendezvous", "drain_timeout", "host_id")
                          for line in info(name).stdout.splitlines() if len(line) > 100], [])

    def test_a_name_explains_one_attribute(self):
        for name in ("packet_size", "WEFT_PACKET_SIZE", "weft_packet_size", "Packet_Size"):
            result = info(name, WEFT_PACKET_SIZE="16K")
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            for part in ("WEFT_PACKET_SIZE (attribute packet_size)", "value    16K bytes", "origin   the environment variable",
                         "default  32K bytes", "range    1K to 1M bytes", "payload that one packet holds"):
                self.assertIn(part, result.stdout)
        self.assertIn("origin   the default", info("spin").stdout)
        self.assertEqual(json.loads(info("spin", "--json").stdout)["unit"], "microseconds")

    def test_mpi_tells_the_functions_of_weft_mpi_and_its_limits(self):
        known = json.loads(info("--mpi", "--json").stdout)
        functions = {function["name"]: function for function in known["functions"]}
        self.assertEqual(len(functions), 664)
        self.assertEqual(functions["MPI_Send_c"], {"name": "MPI_Send_c", "group": "point to point", "there": True})
        self.assertEqual((known["standard"], known["abi"], known["limits"]["max_object_name"]), ("MPI 5.0", "1.0", 128))
        there = sum(function["there"] for function in known["functions"])
        text = info("--mpi").stdout
        self.assertIn(f"functions: {there} of 664 are there\n", text)
        guide = (Path(os.environ["WEFTDEV_SOURCE_DIR"]) / "docs/guide/bindings/mpi.md").read_text()
        self.assertIn(f"{there} of 664 functions are there", guide)
        self.assertEqual([line for line in text.splitlines() if len(line) > 100], [])

    def test_a_name_of_no_attribute_gets_the_nearest_one(self):
        for name, nearest in (("packet_sizes", "packet_size"), ("WEFT_SPINN", "WEFT_SPIN"), ("sipn", "spin")):
            result = info(name)
            self.assertEqual((result.returncode, result.stdout), (2, ""))
            self.assertEqual(result.stderr,
                             f"weft info: there is no attribute {name}: did you mean {nearest}? `weft info` lists all\n")
        self.assertEqual(info("nonsense").stderr, "weft info: there is no attribute nonsense: `weft info` lists all\n")

    def test_the_page_of_the_documents_is_up_to_date(self):
        page = Path(os.environ["WEFTDEV_SOURCE_DIR"]) / "docs/guide/variables.md"
        self.assertEqual(info("--markdown", WEFT_SPIN="9").stdout, page.read_text(),
                         "write it again: weft info --markdown > docs/guide/variables.md")
        for attribute in json.loads(info("--json").stdout)["attributes"]:
            self.assertIn(f"| `{attribute['variable']}` |", page.read_text())
        for name in ("WEFT_RANK", "WEFT_SIZE", "WEFT_BOOTSTRAP", "WEFT_JOB_SECRET"):
            self.assertIn(f"| `{name}` |", page.read_text())
            self.assertNotIn(name, info(**{name: "srun" if name == "WEFT_BOOTSTRAP" else "1"}).stderr)

    def test_json_tells_value_source_and_range_of_every_attribute(self):
        report = json.loads(info("--json", WEFT_PACKET_SIZE="16K").stdout)
        attributes = {attribute["name"]: attribute for attribute in report["attributes"]}
        self.assertEqual(attributes["packet_size"]["value"], "16K")
        self.assertEqual(attributes["packet_size"]["source"], "environment")
        self.assertEqual(attributes["packet_size"]["default"], "32K")
        self.assertEqual(attributes["spin"]["source"], "default")
        for attribute in report["attributes"]:
            self.assertTrue(attribute["range"] and attribute["meaning"], attribute)

    def test_networks_that_are_absent_have_a_reason(self):
        networks = {network["name"]: network for network in json.loads(info("--json").stdout)["networks"]}
        self.assertTrue(networks["shm"]["present"])
        if networks["ofi"]["present"]:
            self.assertIn("tcp", networks["ofi"]["description"])
        else:
            self.assertIn("libfabric", networks["ofi"]["reason"])
        if networks["ibv"]["present"]:
            self.assertIn("port", networks["ibv"]["description"])
        else:
            self.assertRegex(networks["ibv"]["reason"], "built without libibverbs|ibv: ")

    def test_a_wrong_environment_is_an_error(self):
        result = info(WEFT_PACKET_SIZE="enormous")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn("WEFT_PACKET_SIZE=enormous is not valid", result.stderr)
        self.assertIn("did you mean WEFT_SPIN?", info(WEFT_SPINN="1").stderr)


if __name__ == "__main__":
    unittest.main()
