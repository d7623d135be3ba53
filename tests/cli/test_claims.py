"""What people see of the claims in a report."""

from tests.cli.conftest import SETTINGS

CLAIMS = [
    {"text": "Two hats\nare left.", "evidence": ["t.stock"]},
    {"text": "They are\x1b[2J nice.", "status": "verified"},
    {"text": "Hats sell well.", "evidence": []},
]
DEMOTED = "unverified: They are\\u001b[2J nice. (it was called verified without evidence)"


def counted(folkmoot):
    folkmoot.write_with_tool(
        "stock", '@tool(effect="pure", access="read")\ndef stock() -> int:\n    return 2\n'
    )
    script = {"a": [{"calls": [{"tool": "t.stock"}]}, {"report": "Two hats.", "claims": CLAIMS}]}
    settings = SETTINGS + "tools: {t: {kind: python, module: t.py}}\n"
    folkmoot.write({"a": "tools: [t]\noutput: {claims: true}"}, script, settings)
    return folkmoot


def test_run_says_beside_the_report_what_nothing_bears_out(folkmoot):
    """C-6."""
    done = counted(folkmoot)("run", "a.ai", "How many?")

    assert (done.code, done.out) == (0, "Two hats.\n")
    assert [line for line in done.err.splitlines() if line.startswith("unverified")] == [
        DEMOTED,
        "unverified: Hats sell well.",
    ]
    assert "a claims what is not verified: it was called verified without evidence" in done.err


def test_runs_show_lists_what_was_claimed_with_its_evidence(folkmoot):
    folkmoot = counted(folkmoot)
    folkmoot("run", "a.ai", "How many?")
    [id] = [one["id"] for one in folkmoot("runs", "show", "last", "--json").json["evidence"]]

    assert folkmoot("runs", "show", "last").out.splitlines()[-5:] == [
        "Two hats.",
        "",
        f"verified: Two hats are left. ({id})",
        DEMOTED,
        "unverified: Hats sell well.",
    ]
