from folkmoot.domain.agent import Frontmatter
from folkmoot.loader.walk import definition, field_lines, template
from tests.loader.making import loaded


def test_the_template_shows_every_key_with_its_default(tmp_path):
    """A-18."""
    lines = template().splitlines()

    for key in ("handoff", "router", "advisors", "team", "chat"):
        assert any(line.startswith(f"# {key}:") for line in lines)
    for field in definition(Frontmatter).fields:
        assert any(line.startswith(f"# {field.encode_name}:") for line in lines)
    assert (
        "# maxTurns: 10                  # Model requests with their tools; in the last turn only"
        in template()
    )
    assert "# llmTimeout: 10m " in template()
    assert "#   destinations: " in template()


def test_the_template_is_an_agent_file(tmp_path):
    """A-18."""
    assert loaded(tmp_path, {"a.ai": template()}).graph.agents["a.ai"].prompt.startswith("The prompt")


def test_a_line_of_the_template_can_be_taken_out_of_its_comment(tmp_path):
    """A-18."""
    text = (
        template()
        .replace("# maxTurns:", "maxTurns:")
        .replace("# split:", "split:")
        .replace("# cache:", "cache:")
    )

    assert loaded(tmp_path, {"a.ai": text}).graph.agents["a.ai"].tuning.max_turns == 10


def test_every_key_has_a_meaning(tmp_path):
    """A-18."""
    meanings = field_lines(Frontmatter)

    assert [field.name for field in definition(Frontmatter).fields if field.name not in meanings] == []
