"""What `orchestration` in `folkmoot.yaml` needs of the rest."""

import pytest

from tests.loader.making import SETTINGS, error, loaded, warnings

PLAIN = "description: x"


def test_a_profile_must_be_an_agent_file_of_the_project(tmp_path):
    """B-36."""
    settings = SETTINGS + "orchestration: {sub_agent_profile: helpr.ai}\n"
    files = {"a.ai": PLAIN, "helper.ai": PLAIN, "folkmoot.yaml": settings}

    assert error(tmp_path, files) == (
        "folkmoot.yaml:2:36: there is no agent file 'helpr.ai'; did you mean 'helper.ai'?"
    )


def test_summaries_need_the_alias_fast(tmp_path):
    """B-47."""
    settings = SETTINGS + "orchestration: {summarize_results: true}\n"
    assert "declare it: `models: {fast: provider/model}`" in error(
        tmp_path, {"a.ai": PLAIN, "folkmoot.yaml": settings}
    )

    settings = settings.replace("{default:", "{fast: openai/gpt-5-mini, default:")
    assert loaded(tmp_path, {"a.ai": PLAIN, "folkmoot.yaml": settings}).graph.fast.model == "gpt-5-mini"


def test_unknown_keys_and_wrong_values_are_errors(tmp_path):
    """B-46."""
    for keys, wrong in (
        ("enable_agnt_tool: true", "unknown key 'enable_agnt_tool'"),
        ("cache_ttl_seconds: 0", "must be at least 1"),
        ("sub_agent_tool_allowlist: 5", "sub_agent_tool_allowlist"),
    ):
        settings = f"{SETTINGS}orchestration: {{{keys}}}\n"
        assert wrong in error(tmp_path, {"a.ai": PLAIN, "folkmoot.yaml": settings})


def test_the_defaults_are_those_of_the_seed(tmp_path):
    """B-35 … B-44, X-B5, X-B6."""
    found = {setting.key: setting.value for setting in loaded(tmp_path, {"a.ai": PLAIN}).settings}

    assert {key.partition(".")[2]: value for key, value in found.items() if key.startswith("orch")} == {
        "enable_agent_tool": False,
        "auto_approve": False,
        "sub_agent_profile": None,
        "sub_agent_work_dir": None,
        "sub_agent_max_steps": 30,
        "sub_agent_tool_allowlist": None,
        "summarize_results": False,
        "summary_max_length": 2000,
        "enable_result_cache": False,
        "cache_ttl_seconds": 3600,
        "allow_subagents": False,
        "stream_sub_agent_events": False,
    }


@pytest.mark.parametrize("folder", ["work", "work/../w", "/srv/work"])
def test_called_agents_may_work_in_a_folder_of_the_project_or_wherever_the_file_says_in_full(
    tmp_path, folder
):
    """B-37."""
    settings = f"{SETTINGS}orchestration: {{sub_agent_work_dir: {folder}}}\n"

    assert warnings(tmp_path, {"a.ai": PLAIN, "folkmoot.yaml": settings}) == []


@pytest.mark.parametrize("folder", ["../work", "work/../.."])
def test_a_path_that_leads_out_of_the_project_is_refused(tmp_path, folder):
    """B-37."""
    settings = f"{SETTINGS}orchestration: {{sub_agent_work_dir: {folder}}}\n"
    found = error(tmp_path, {"a.ai": PLAIN, "folkmoot.yaml": settings})

    assert found.startswith("folkmoot.yaml:2:37: ")
    assert "leads out of the project; name a folder inside it" in found


def test_where_any_agent_may_be_called_nobody_is_unreachable(tmp_path):
    """X-16."""
    settings = SETTINGS + "orchestration: {enable_agent_tool: true}\n"
    files = {"a.ai": "handoff: b.ai", "b.ai": PLAIN, "c.ai": PLAIN}

    assert len(warnings(tmp_path, files)) == 1
    assert warnings(tmp_path, {**files, "folkmoot.yaml": settings}) == []
