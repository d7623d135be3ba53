"""Changes that a person must see, whatever allows them."""

import pytest

from folkmoot.domain.sources import Escalation, escalated

LIMITS = Escalation()


def diff(changed):
    return "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n context\n" + "+line\n" * changed


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"path": "notes.md", "content": "one line"}, ""),
        ({"path": "notes.md", "content": "x\n" * 200}, "201 changed lines are more than 200"),
        ({"path": "notes.md", "content": "x\n" * 199}, ""),
        ({"diff": diff(200)}, ""),
        ({"diff": diff(201)}, "201 changed lines are more than 200"),
        ({"path": ".env"}, "'.env' fits `.env*`"),
        ({"path": "a/../.ENV.local"}, "'.ENV.local' fits `.env*`"),
        ({"path": "deep/.env/x"}, "'deep/.env/x' fits `.env*`"),
        ({"path": "tls/server.pem"}, "'tls/server.pem' fits `*.pem`"),
        ({"file": "my_api_key.txt"}, "'my_api_key.txt' fits `*key*`"),
        ({"path": ".git/hooks/pre-commit"}, "'.git/hooks/pre-commit' fits `.git/**`"),
        ({"path": "sub/.git/config"}, "'sub/.git/config' fits `.git/**`"),
        ({"path": ".github\\workflows\\ci.yml"}, "'.github/workflows/ci.yml' fits `.github/workflows/**`"),
        ({"edits": [{"target": "ok"}, {"target": "folkmoot.yaml"}]}, "'folkmoot.yaml' fits `folkmoot.yaml`"),
        ({"patch": "--- a/.env\n+++ b/.env\n@@ -1 +1 @@\n-a\n+b\n"}, "'.env' fits `.env*`"),
        ({"text": "the key is under the mat"}, ""),
    ],
)
def test_large_changes_and_delicate_paths_escalate(arguments, why):
    """D-33, O-8: more than 200 lines, `.env*`, `*.pem`, `*key*`, `.git/**`, CI files."""
    assert escalated(arguments, LIMITS) == why


def test_the_limits_are_the_projects_to_set():
    """O-8: configurable."""
    own = Escalation(lines=2, paths=("prod/**",))

    assert escalated({"path": ".env"}, own) == ""
    assert escalated({"path": "prod/a"}, own)
    assert escalated({"content": "a\nb\nc"}, own)
