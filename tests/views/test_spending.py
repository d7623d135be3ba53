"""What a project has spent, as the API tells it."""

import pytest

from folkmoot.domain.events import RunPruned
from folkmoot.domain.fork_events import RunForked
from folkmoot.views.spending import Spending
from tests.views.test_costs import answer, entries


@pytest.mark.parametrize(
    "event", [RunForked("r2", 1), RunPruned("a.ai", "completed", "2026-03-01", "2026-03-01")]
)
def test_what_another_run_paid_for_and_what_was_pruned_does_not_count(event):
    """The same before and after a restart of the server, and as on the page."""
    spending = Spending()
    for entry in entries(
        ("r1", "2026-03-01", "desk", answer(1.0)),
        ("r2", "2026-03-01", "desk", answer(2.0)),
        ("r1", "2026-03-02", "", event),
    ):
        spending.take(entry)

    assert spending.totals().cost_usd == 2.0
