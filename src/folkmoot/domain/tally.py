"""Counts the votes of a decision. Pure: what comes out follows from the votes, the weights and the rule alone."""

from __future__ import annotations

from collections import Counter

from folkmoot.domain.decision import ABSTAIN, Proposal, Rule, Vote
from folkmoot.domain.value import Value


class Tally(Value, omit_defaults=False):
    counts: dict[str, int]
    """What is for each option, by weight."""
    abstained: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    """Who may vote and has not spoken."""
    winner: str = ""
    """The option that meets the rule as it stands now."""
    tied: tuple[str, ...] = ()
    """The options that share the lead, where one more vote for any of them would have decided."""

    @property
    def is_complete(self) -> bool:
        return not self.missing


def tally(proposal: Proposal, votes: dict[str, Vote]) -> Tally:
    """`votes` are those that stand, by voter."""
    weights = {voter.name: voter.weight for voter in proposal.participants}
    spoken = {name: votes[name].option for name in weights if name in votes}
    given: Counter[str] = Counter({option.id: 0 for option in proposal.options})
    for name, option in spoken.items():
        if option != ABSTAIN:
            given[option] += weights[name]
    abstained = tuple(name for name, option in spoken.items() if option == ABSTAIN)
    counts = dict(given)
    most = max(counts.values(), default=0)
    leading = tuple(option for option, count in counts.items() if most and count == most)
    whole = sum(weights.values())
    entitled = whole - sum(weights[name] for name in abstained)
    met, shared = _judged(proposal.rule, counts, entitled, whole)
    return Tally(
        counts,
        abstained,
        tuple(name for name in weights if name not in votes),
        winner=leading[0] if met and len(leading) == 1 else "",
        tied=leading if shared and len(leading) > 1 else (),
    )


def _judged(rule: Rule, counts: dict[str, int], entitled: int, whole: int) -> tuple[bool, bool]:
    """Whether an option that leads alone meets the rule, and whether it is a tie if several lead."""
    cast, most = sum(counts.values()), max(counts.values(), default=0)
    match rule.kind:
        case "majority":
            return 2 * most > entitled, True
        case "unanimous":
            return 0 < most == cast == entitled, False
        case "quorum":
            # Abstentions do not count: those of failed runs would let one voter alone decide for all.
            enough = 100 * cast >= rule.percent * whole if rule.percent else cast >= rule.votes
            return enough, enough
