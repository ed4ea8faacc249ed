"""`weft info`."""

import json
import subprocess
import unittest

from launcher import HANG_GUARD, WEFT, environment


def info(*arguments, **env):
    return subprocess.run([WEFT, "info", *arguments], capture_output=True, text=True, timeout=HANG_GUARD,
                          env=environment(**env))


class InfoTest(unittest.TestCase):
    def test_the_table_has_version_build_host_networks_and_attributes(self):
        result = info()
        self.assertEqual(result.returncode, 0, result.stderr)
        for part in ("weft ", "build", "host", "networks", "attributes", "WEFT_PACKET_SIZE", "not in this build"):
            self.assertIn(part, result.stdout)

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
        self.assertEqual(networks["ibv"], {"name": "ibv", "present": False, "reason": "not in this build"})

    def test_a_wrong_environment_is_an_error(self):
        result = info(WEFT_PACKET_SIZE="enormous")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn("WEFT_PACKET_SIZE=enormous is not valid", result.stderr)
        self.assertIn("did you mean WEFT_SPIN?", info(WEFT_SPINN="1").stderr)


if __name__ == "__main__":
    unittest.main()
