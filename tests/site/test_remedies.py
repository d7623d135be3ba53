"""Which page explains an error: complete, and never a dead end."""

import re

import pytest

from checks import docs
from checks.files import ROOT
from folkmoot import errors
from folkmoot.domain.report import StopReason
from folkmoot.errors import DeclarationError, FolkmootError, Held, OperationFailed, Problem, WrongUse
from folkmoot.site.remedies import STOPPED, TABLE, topic_for

SOURCE = "".join(path.read_text() for path in (ROOT / "src").rglob("*.py") if path.name != "remedies.py")


def declared(*codes, severity="error"):
    return DeclarationError(
        [Problem(file="a.ai", message="x", code=code, severity=severity) for code in codes]
    )


@pytest.mark.parametrize(
    ("error", "topic"),
    [
        (Held("r", "serve on here"), "troubleshooting#a-run-is-in-other-hands"),
        (declared("agents_in_a_circle"), "troubleshooting#agents-wait-for-each-other"),
        (
            DeclarationError([Problem(file="a.ai", message="x")]),
            "troubleshooting#a-file-or-a-setting-is-wrong",
        ),
        (OperationFailed("x"), ""),
        (OperationFailed("x", code="address_taken"), "troubleshooting#the-port-is-taken"),
        (WrongUse("--lease must be a second or more"), ""),
        (KeyError("x"), ""),
    ],
)
def test_an_error_leads_to_the_page_that_explains_it(error, topic):
    assert topic_for(error) == topic


def test_the_first_error_speaks_for_all_and_no_warning_does():
    warned = declared("tool_not_found", severity="warning").problems
    error = DeclarationError([*warned, *declared("model_missing", "not_yaml").problems])

    assert topic_for(error) == "models#naming-a-model"


def test_every_kind_of_error_has_a_code_of_its_own():
    kinds = [
        kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, FolkmootError)
    ]

    assert len({kind.code for kind in kinds}) == len(kinds)


def test_every_reason_to_stop_that_is_a_failure_has_a_page():
    failures = set(StopReason.__args__) - {"OBJECTIVE_ACHIEVED", "CANCELLED", "HUMAN_REQUESTED"}

    assert set(STOPPED) == {*failures, "SCHEMA"}


@pytest.mark.parametrize("code", TABLE)
def test_the_codes_of_the_table_are_those_of_real_errors(code):
    assert f'"{code}"' in SOURCE
    assert re.fullmatch("[a-z_]+", code)


def test_a_dead_end_fails_the_build(monkeypatch):
    monkeypatch.setattr(docs, "TABLE", {"wrong_use": "trust#nowhere"})

    assert list(docs.unknown_help(ROOT)) == [
        "remedies: an error leads to 'trust#nowhere': that page has no such heading"
    ]
