"""What a project wants, and what its user allowed."""

import pytest

from folkmoot.domain.settings import Provider, Settings, ToolSource
from folkmoot.tools.trust import TrustStore, wishes


@pytest.fixture
def store(tmp_path):
    return TrustStore({"XDG_CONFIG_HOME": str(tmp_path / "config")})


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "psp.py").write_text("x = 1")
    return folder


MODULE = Settings(tools={"psp": ToolSource("python", module="psp.py")})


def test_a_python_module_is_used_only_after_trust_and_asks_again_when_it_changes(project, store):
    assert store.missing(project, wishes(project, MODULE))
    store.allow(project, wishes(project, MODULE))
    assert not store.missing(project, wishes(project, MODULE))

    (project / "psp.py").write_text("x = 2")
    assert [wish.text for wish in store.missing(project, wishes(project, MODULE))] == [
        "run the Python module psp.py"
    ]


def test_trust_in_one_project_is_no_trust_in_another(project, store, tmp_path):
    store.allow(project, wishes(project, MODULE))

    assert store.missing(tmp_path, wishes(project, MODULE))


@pytest.mark.parametrize(
    ("provider", "wanted"),
    [
        (Provider("openai", "http://127.0.0.1:11434/v1", "KEY"), False),
        (Provider("openai", "http://localhost:1/v1", "OPENAI_API_KEY"), False),
        (Provider("openai", "https://api.openai.com/v1", "OPENAI_API_KEY"), False),
        (Provider("openai", None, "OPENAI_API_KEY"), False),
        (Provider("openai"), False),
        (Provider("scripted", script="x.yaml"), False),
        (Provider("openai", None, "AWS_SECRET"), True),
        (Provider("openai", "https://evil.example/v1", "OPENAI_API_KEY"), True),
        (Provider("openai", "https://api.openai.com/v1", "AWS_SECRET"), True),
    ],
)
def test_a_key_goes_to_a_foreign_address_only_after_trust(project, provider, wanted):
    assert bool(wishes(project, Settings(providers={"p": provider}))) is wanted


def test_a_broken_store_allows_nothing_and_is_replaced(project, store):
    store.file.parent.mkdir(parents=True)
    store.file.write_text("{oops")

    assert store.missing(project, wishes(project, MODULE))
    store.allow(project, wishes(project, MODULE))
    assert not store.missing(project, wishes(project, MODULE))
    assert store.file.stat().st_mode & 0o777 == 0o600
