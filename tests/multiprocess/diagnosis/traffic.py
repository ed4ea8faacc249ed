"""Runs traffic_rank: two ranks with traffic that is known in advance."""

from weft_job import environment, program, run

SHORT = 100
PACKETS = 10
LARGE = 2
MATCHED = 20
ACTIVE = SHORT + PACKETS
LARGE_BYTES = LARGE * 300_000
PUT_BYTES = 1000


def run_traffic(**attributes):
    """The finished job, with WEFT_<NAME>=value for each attribute."""
    return run(2, program("traffic_rank"), env=environment(**{f"WEFT_{name.upper()}": value for name, value in attributes.items()}))
