"""`folkmoot doctor`: what is missing on this machine or in this project."""

from __future__ import annotations

import typer

from folkmoot.cli.call import AsJson, call_of


def doctor(context: typer.Context, as_json: AsJson = False) -> int:
    """Look for what is missing or broken, here and in the project.

    It looks at Python, SQLite, the terminal, the project, keys, trust, tool servers, remote agents, the journal and
    git. Keys are never printed, only whether they are set. The exit code is 1 if something is broken.

    \b
    Examples:
      folkmoot doctor
      folkmoot --project desks/support doctor --json
    """
    from folkmoot.cli.examination import examine
    from folkmoot.cli.output import STYLES, write_json, write_table

    findings = examine(call_of(context))
    if as_json:
        write_json(findings)
    else:
        write_table(
            ("what", "status", "finding"),
            (
                (finding.id, (finding.status, STYLES.get(finding.status, "")), finding.text)
                for finding in findings
            ),
        )
    return 1 if any(finding.status == "failed" for finding in findings) else 0
