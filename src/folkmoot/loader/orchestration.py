"""What `orchestration` in `folkmoot.yaml` needs of the rest of the project."""

from __future__ import annotations

from collections.abc import Collection

from folkmoot.loader.files import climbs_out
from folkmoot.loader.findings import Findings
from folkmoot.loader.hints import near, short
from folkmoot.loader.models import Shelf
from folkmoot.loader.nodes import place_of
from folkmoot.loader.options import Project


def check_orchestration(
    project: Project, files: Collection[str] | None, models: Shelf, findings: Findings
) -> None:
    """`files` are all agent files of the project; none if not all were read."""
    settings = project.settings.orchestration
    profile = settings.sub_agent_profile
    if profile is not None and files is not None and profile not in files:
        hint = near(profile, files) or "; name an agent file, relative to folkmoot.yaml, with `.ai`"
        place = place_of(project.node, ("orchestration", "sub_agent_profile"))
        findings.error(place, f"there is no agent file {short(profile)}{hint}")
    folder = settings.sub_agent_work_dir
    if folder is not None and climbs_out("", folder):
        place = place_of(project.node, ("orchestration", "sub_agent_work_dir"))
        hint = "name a folder inside it, or an absolute path"
        findings.error(place, f"{short(folder)} leads out of the project; {hint}")
    if settings.summarize_results and "fast" not in models.aliases:
        place = place_of(project.node, ("orchestration", "summarize_results"))
        findings.error(
            place,
            "summaries are written by the model alias `fast`, and there is none; declare it: "
            "`models: {fast: provider/model}`",
        )
