"""Where a project keeps its journal."""

import pytest

from folkmoot.domain.settings import Storage
from folkmoot.errors import DeclarationError
from folkmoot.loader.project_file import storage_of
from tests.loader.making import error, loaded

URL = "postgresql://me@db.example/moot"


def stored(folder, settings, env=None):
    (folder / "folkmoot.yaml").write_text(settings)
    return storage_of(folder, env or {})


def test_without_a_word_about_it_the_journal_is_in_the_folder(tmp_path):
    assert storage_of(tmp_path, {}) == Storage()
    assert stored(tmp_path, "this: [is not YAML") == Storage()
    assert stored(tmp_path, "storage: {project: desk}").url is None


def test_the_environment_stands_above_the_file(tmp_path):
    """One file for all hosts names the project; each host may say where its server is, with a password."""
    env = {"FOLKMOOT_STORAGE_URL": "postgresql://me:hunter2@elsewhere/moot"}

    assert stored(tmp_path, f"storage: {{url: '{URL}', project: desk}}") == Storage(url=URL, project="desk")
    assert stored(tmp_path, "storage: {project: desk}", env) == Storage(
        url=env["FOLKMOOT_STORAGE_URL"], project="desk"
    )


def test_what_else_is_wrong_in_a_project_does_not_hide_its_past(tmp_path):
    settings = f"nonsense: 1\nstorage: {{url: '{URL}', project: desk}}\nbudget: {{usd: much}}"

    assert stored(tmp_path, settings) == Storage(url=URL, project="desk")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            f"{{url: '{URL}'}}",
            "needs `storage.project`, the name of this project there: the same on every host",
        ),
        (f"{{url: '{URL}', project: My Desk}}", "`storage.project` cannot be 'My Desk'; use a-z 0-9 _ -"),
        ("{url: 'mysql://x/y', project: desk}", "`storage.url` must begin with postgresql://"),
        ("{url: 'postgresql://x/y?password=hunter2', project: desk}", "`storage.url` holds a password"),
        ("{url: 'postgresql://me:hun@ter2@x/y', project: desk}", "`storage.url` holds a password"),
        ("{urk: 1, project: desk}", "unknown key 'urk' in `storage`"),
    ],
)
def test_what_is_wrong_is_said_with_its_place_and_without_a_secret(tmp_path, settings, message):
    text = f"storage: {settings}"

    found = error(tmp_path, {"a.ai": "models: [openai/gpt-5-mini]", "folkmoot.yaml": text})
    with pytest.raises(DeclarationError) as refused:
        storage_of(tmp_path, {})

    assert message in found
    assert found in str(refused.value)
    assert "folkmoot.yaml:1:" in str(refused.value)
    assert "ter2" not in found


def test_it_cannot_be_set_for_one_command(tmp_path):
    found = error(
        tmp_path, {"a.ai": "models: [openai/gpt-5-mini]"}, flags={"storage.url": "postgresql://x/y"}
    )

    assert found.endswith("`storage.url` must hold for all commands alike; set it in folkmoot.yaml")


def test_no_password_is_shown_or_pinned(tmp_path):
    """Neither in `config show` nor in the graph that a run keeps."""
    env = {"FOLKMOOT_STORAGE_URL": "postgresql://me:hunter2@x/y", "FOLKMOOT_STORAGE_PROJECT": "desk"}

    project = loaded(tmp_path, {"a.ai": "models: [openai/gpt-5-mini]"}, env=env)

    shown = {setting.key: (setting.value, setting.source) for setting in project.settings}
    assert shown["storage.url"] == ("postgresql://me:***@x/y", "environment FOLKMOOT_STORAGE_URL")
    assert project.graph.settings.storage == Storage()
    assert "hunter2" not in repr(project)
