"""Ranks of `weft run` connected through libfabric."""

import json
import os
import re
import subprocess
import unittest

from weft_job import HANG_GUARD, WEFT, environment, first, program, run, shared_memory

PROVIDERS = ["tcp;ofi_rxm", "shm"]


def has_ofi():
    result = subprocess.run([WEFT, "info", "--json"], capture_output=True, text=True, timeout=HANG_GUARD, env=environment(),
                            check=True)
    return any(network["name"] == "ofi" and network["present"] for network in json.loads(result.stdout)["networks"])


def orphans():
    """Files of libfabric's provider shm whose process has ended: other tests may run at the same time."""
    files = (re.fullmatch(r"(\d+):\d+:\d+", name) for name in shared_memory())
    return {file[0] for file in files if file and not os.path.exists(f"/proc/{file[1]}")}


@unittest.skipUnless(has_ofi(), "no libfabric here")
class OfiTest(unittest.TestCase):
    def run_on(self, provider, ranks, *command, **changes):
        return run(ranks, *command, env=environment(WEFT_NETWORK="ofi", WEFT_OFI_PROVIDER=provider, **changes))

    def test_messages_of_all_sizes_arrive(self):
        for provider in PROVIDERS:
            with self.subTest(provider=provider):
                before = orphans()
                result = self.run_on(provider, 3, program("messages_rank"), "all-sizes")
                self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
                self.assertEqual(orphans() - before, set(), "left in /dev/shm")

    def test_a_token_goes_round(self):
        ring = os.path.join(os.environ["WEFTDEV_BIN_DIR"], "example-ring")
        for provider in PROVIDERS:
            for ranks in first((2, 1, 4)):
                with self.subTest(provider=provider, ranks=ranks):
                    result = self.run_on(provider, ranks, ring)
                    self.assertEqual((result.returncode, result.stdout, result.stderr), (0, f"{1000 * ranks} hops\n", ""))

    def test_ranks_that_do_not_fit_say_so(self):
        for variable, first, second in (("WEFT_OFI_PROVIDER", "tcp;ofi_rxm", "shm"), ("WEFT_PACKET_SIZE", "8K", "4K")):
            with self.subTest(variable=variable):
                choose = f'test "$WEFT_RANK" = 0 && export {variable}="{first}" || export {variable}="{second}"; exec "$@"'
                result = run(2, "/bin/sh", "-c", choose, "sh", program("messages_rank"), "all-sizes",
                             env=environment(WEFT_NETWORK="ofi"))
                self.assertNotEqual(result.returncode, 0)
                self.assertRegex(result.stderr, rf"rank \d on .* has \S+ \({variable}\) .*; rank \d on .* has .*: all ranks must have the same")

    def test_a_provider_that_does_not_exist_is_named(self):
        result = self.run_on("carrier pigeons", 2, program("messages_rank"), "all-sizes")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn('ofi_provider is "carrier pigeons"', result.stderr)


if __name__ == "__main__":
    unittest.main()
