"""Ranks of `weft run` connected through libfabric."""

import json
import os
import subprocess
import unittest

from weft_job import HANG_GUARD, WEFT, environment, first, program, run

# And how large messages move: fetched by their receivers, or put by their senders.
WAYS = [{"WEFT_OFI_PROVIDER": "tcp;ofi_rxm"}, {"WEFT_OFI_PROVIDER": "tcp;ofi_rxm", "WEFT_RENDEZVOUS": "put"}]


def info(**attributes):
    """What weft info tells of the network."""
    result = subprocess.run([WEFT, "info", "--json"], capture_output=True, text=True, timeout=HANG_GUARD, env=environment(**attributes),
                            check=True)
    return next((network for network in json.loads(result.stdout)["networks"] if network["name"] == "ofi"), {"present": False})


@unittest.skipUnless(info()["present"], "no libfabric here")
class OfiTest(unittest.TestCase):
    def run_on(self, ranks, *command, **attributes):
        return run(ranks, *command, env=environment(WEFT_NETWORK="ofi", **attributes))

    def test_messages_of_all_sizes_arrive(self):
        for way in WAYS:
            with self.subTest(way=way):
                result = self.run_on(3, program("messages_rank"), "all-sizes", **way)
                self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)

    def test_a_token_goes_round(self):
        ring = os.path.join(os.environ["WEFTDEV_BIN_DIR"], "example-ring")
        for ranks in first((2, 1, 4)):
            with self.subTest(ranks=ranks):
                result = self.run_on(ranks, ring, **WAYS[0])
                self.assertEqual((result.returncode, result.stdout, result.stderr), (0, f"{1000 * ranks} hops\n", ""))

    def test_who_carries_out_accesses_is_told(self):
        for attributes, told in (({"WEFT_OFI_PROVIDER": "tcp;ofi_rxm"}, r"more than 8 KiB of regions that weft allocates go by the provider (net|tcp), which brings the signals of puts along;"),
                                 ({"WEFT_OFI_PROVIDER": "verbs;ofi_rxm"}, r"go by messages: with the provider verbs;ofi_rxm a key that has ended would"),
                                 ({"WEFT_ONE_SIDED": "message"}, r"go by messages: attribute one_sided is message;")):
            with self.subTest(attributes=attributes):
                self.assertRegex(info(**attributes)["description"], told)
                self.assertIn("; native atomic operations: no;", info(**attributes)["description"])

    def test_regions_are_reached_and_end(self):
        for path in ("auto", "message"):
            for arguments in (("exchange", "--by", "key"), ("forge",), ("leak",), ("leave",), ("leave", "--memory", "allocated")):
                with self.subTest(path=path, arguments=arguments):
                    result = self.run_on(3, program("one_sided_rank"), *arguments, WEFT_ONE_SIDED=path, **WAYS[0])
                    self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    @unittest.skipUnless(os.environ.get("WEFTDEV_NIGHTLY") == "1", "sixteen seconds with WEFTDEV_NIGHTLY=1")
    def test_a_rank_that_computes_is_not_taken_for_one_that_has_left(self):
        result = subprocess.run([WEFT, "run", "-n", "3", "--keep-going", "--timeout", str(HANG_GUARD), "--", program("one_sided_rank"),
                                 "compute"], capture_output=True, text=True, timeout=HANG_GUARD + 20,
                                env=environment(WEFT_NETWORK="ofi", **WAYS[0]))
        self.assertIn("both have ended\n", result.stdout, result.stderr)
        self.assertIn("1 of 3 ranks failed: rank 1", result.stderr)

    @unittest.skipUnless(os.environ.get("WEFTDEV_NIGHTLY") == "1", "thirteen seconds with WEFTDEV_NIGHTLY=1")
    def test_a_rank_that_was_not_reached_is_reached_again(self):
        result = self.run_on(2, program("one_sided_rank"), "late", **WAYS[0])
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertEqual(result.stdout, "by messages, then by the network\n")

    def test_ranks_that_do_not_fit_say_so(self):
        for variable, first, second in (("WEFT_OFI_PROVIDER", "tcp;ofi_rxm", "net"), ("WEFT_PACKET_SIZE", "8K", "4K")):
            with self.subTest(variable=variable):
                choose = f'test "$WEFT_RANK" = 0 && export {variable}="{first}" || export {variable}="{second}"; exec "$@"'
                result = run(2, "/bin/sh", "-c", choose, "sh", program("messages_rank"), "all-sizes",
                             env=environment(WEFT_NETWORK="ofi"))
                self.assertNotEqual(result.returncode, 0)
                self.assertRegex(result.stderr, rf"rank \d on .* has \S+ \({variable}\) .*; rank \d on .* has .*: all ranks must have the same")

    def test_a_provider_that_does_not_exist_is_named(self):
        result = self.run_on(2, program("messages_rank"), "all-sizes", WEFT_OFI_PROVIDER="carrier pigeons")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn('ofi_provider is "carrier pigeons"', result.stderr)

    def test_the_provider_shm_is_refused(self):
        result = self.run_on(2, program("messages_rank"), "all-sizes", WEFT_OFI_PROVIDER="shm")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn('ofi_provider is "shm", which weft does not use: ranks of one host have WEFT_NETWORK=shm', result.stderr)

    def test_receive_buffers_that_are_not_shared_are_refused(self):
        for value in ("0", "No"):
            result = self.run_on(2, program("messages_rank"), "all-sizes", FI_OFI_RXM_USE_SRX=value)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn(f"FI_OFI_RXM_USE_SRX={value}, with which libfabric crashes when connections end: unset it, or set it to 1", result.stderr)


if __name__ == "__main__":
    unittest.main()
