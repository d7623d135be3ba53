"""`folkmoot doctor`: what is missing on this machine or in this project."""

from __future__ import annotations

from typing import Annotated

import typer

from folkmoot.cli.call import AsJson, call_of


def doctor(
    context: typer.Context,
    as_json: AsJson = False,
    look_at: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Look for a model server here, and not at the usual ports.",
            show_default=False,
        ),
    ] = None,
) -> int:
    """Look for what is missing or broken, here and in the project, and for models on this machine.

    It looks at Python, SQLite, the terminal, the project, keys, trust, tool servers, remote agents, the journal and
    git. Keys are never printed, only whether they are set. The exit code is 1 if something is broken. Model servers
    (Ollama, LM Studio, llama.cpp, vLLM and others) are asked for their models on the usual ports of this machine,
    without a key; for those that the project does not use, it prints what to write into folkmoot.yaml.

    \b
    Examples:
      folkmoot doctor
      folkmoot doctor --look-at 127.0.0.1:9000
      folkmoot --project desks/support doctor --json
    """
    from folkmoot.cli.examination import examine
    from folkmoot.cli.local_models import settings
    from folkmoot.cli.output import STYLES, write, write_json, write_table

    findings = examine(call_of(context), look_at or ())
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
        if lines := settings(findings):
            write("\nTo use these models, write into folkmoot.yaml:\n")
            for line in lines:
                write(line)
    return 1 if any(finding.status == "failed" for finding in findings) else 0
