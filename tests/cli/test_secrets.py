"""Values of secrets at the command line and on the page."""

import re
from urllib.request import urlopen

from tests.cli.conftest import SETTINGS, interrupted, wait_for

VALUE = "s3cr3t-t0k3n-value"


def test_the_value_of_a_secret_is_shown_on_no_terminal_and_no_page(folkmoot, monkeypatch):
    """Issue 5: whoever repeats it, its name stands in its place."""
    monkeypatch.setenv("SHOP_TOKEN", VALUE)
    script = {"a": [{"report": f"the token is {VALUE}"}]}
    folkmoot.write({"a": "description: a"}, script, SETTINGS + "secrets: [SHOP_TOKEN]\n")

    code, said = folkmoot.on_a_terminal("run", "a.ai", f"use {VALUE}")
    (row,) = folkmoot("runs", "list", "--json").json
    shown = [said, *(folkmoot(*words, "last").out for words in (("runs", "show"), ("log", "export")))]
    server = folkmoot.started("serve", "--port", "0")
    address = re.search(r"at (http://\S+/) ", wait_for(server.stderr, "Ctrl-C ends it"))[1]
    for path in (f"runs/{row['runId']}", f"api/runs/{row['runId']}"):
        with urlopen(address + path) as answer:
            shown.append(answer.read().decode())
    interrupted(server)

    assert code == 0
    assert [VALUE in text for text in shown] == [False] * 5
    assert ["{{secret:SHOP_TOKEN}}" in text for text in shown] == [True] * 5
