"""What a claim is worth, by the results that it cites."""

import pytest

from folkmoot.domain.evidence import Minted, judged
from folkmoot.domain.report import Claim

LEDGER = {id: Minted(id, "look", "0", 1, 1) for id in ("ev_1", "ev_2")}
UNKNOWN = "no result of this run has the id ev_9"
BARE = "it was called verified without evidence"


@pytest.mark.parametrize(
    ("said", "worth"),
    [
        (Claim("t"), Claim("t")),
        (Claim("t", ("ev_1",)), Claim("t", ("ev_1",), "verified")),
        (Claim("t", ("ev_1", "ev_2", "ev_1")), Claim("t", ("ev_1", "ev_2"), "verified")),
        (Claim("t", (), "verified"), Claim("t", (), "unverified", BARE)),
        (Claim("t", ("ev_9",)), Claim("t", (), "unverified", UNKNOWN)),
        (Claim("t", ("ev_9", "ev_9")), Claim("t", (), "unverified", UNKNOWN)),
        (Claim("t", ("ev_1", "ev_9"), "verified"), Claim("t", ("ev_1",), "unverified", UNKNOWN)),
    ],
)
def test_a_claim_is_verified_by_results_of_its_run_and_by_nothing_else(said, worth):
    """C-6."""
    assert judged(said, LEDGER) == worth
