"""Which page explains an error: complete, and never a dead end."""

import pytest

from checks import docs
from checks.files import ROOT
from folkmoot import errors
from folkmoot.domain.report import StopReason
from folkmoot.errors import DeclarationError, FolkmootError, Held, OperationFailed, Problem, WrongUse
from folkmoot.site.remedies import STOPPED, TABLE, Remedy, topic_for

SOURCE = "".join(path.read_text() for path in (ROOT / "src").rglob("*.py") if path.name != "remedies.py")


def declared(*messages, severity="error"):
    return DeclarationError([Problem(file="a.ai", message=text, severity=severity) for text in messages])


@pytest.mark.parametrize(
    ("error", "topic"),
    [
        (Held("r", "serve on here"), "troubleshooting#a-run-is-in-other-hands"),
        (declared("agents wait for each other: a.ai"), "troubleshooting#agents-wait-for-each-other"),
        (declared("unknown key 'x'"), "troubleshooting#a-file-or-a-setting-is-wrong"),
        (OperationFailed("x"), ""),
        (WrongUse("--lease must be a second or more"), ""),
        (KeyError("x"), ""),
    ],
)
def test_an_error_leads_to_the_page_that_explains_it(error, topic):
    assert topic_for(error) == topic


def test_the_first_error_speaks_for_all_and_no_warning_does():
    warned = declared("there is no tool 'x'", severity="warning").problems
    error = DeclarationError([*warned, *declared("the agent names no model", "unknown key").problems])

    assert topic_for(error) == "models#naming-a-model"


def test_every_kind_of_error_has_its_place_in_the_table():
    kinds = {
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, FolkmootError) and kind is not FolkmootError
    }

    assert {row.kind for row in TABLE if not row.words} == kinds


def test_every_reason_to_stop_that_is_a_failure_has_a_page():
    failures = set(StopReason.__args__) - {"OBJECTIVE_ACHIEVED", "CANCELLED", "HUMAN_REQUESTED"}

    assert set(STOPPED) == {*failures, "SCHEMA"}


@pytest.mark.parametrize(
    "row", [row for row in TABLE if row.words and not row.words.endswith(".yaml:")], ids=lambda row: row.words
)
def test_the_words_of_the_table_are_those_of_real_messages(row):
    assert row.words in SOURCE


def test_the_general_comes_after_the_particular():
    """A row that stands behind one that always fits would never be reached."""
    for at, row in enumerate(TABLE):
        assert not [
            before for before in TABLE[:at] if not before.words and issubclass(row.kind, before.kind)
        ], row


def test_a_dead_end_fails_the_build(monkeypatch):
    monkeypatch.setattr(docs, "TABLE", (Remedy(WrongUse, "", "trust#nowhere"),))

    assert list(docs.unknown_help(ROOT)) == [
        "remedies: an error leads to 'trust#nowhere': that page has no such heading"
    ]
