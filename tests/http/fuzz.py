"""Lets schemathesis try everything that the OpenAPI document says, against a real server with a project in it.

`./dev fuzz` makes the full run; the suite makes a short one.
"""

import asyncio
import json
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.desk import write
from tests.http.api_client import FILES, Client, served

CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,"
    "response_headers_conformance"
)
WANTED = 2000
"""Cases of the full run."""
_CASES = re.compile(r"(\d[\d,]*) generated")


@dataclass
class Tried:
    code: int
    """0: nothing was found."""
    cases: int
    said: str


async def tried(folder: Path, *options: str) -> Tried:
    """What comes of it; `options` are those of `schemathesis run`."""
    write(folder, {**FILES, "boss": "role: lead\ntools: [plans]"})  # a lead with whom work can begin
    async with served(folder) as api:
        await furnish(api)
        api.bench.go_on.set()
        document = folder / "openapi.json"
        document.write_text(json.dumps(narrowed(await api.get("/api/openapi.json"))))
        command = [
            *(sys.executable, "-m", "schemathesis.cli", "run", str(document), "--url", api.base),
            *("--checks", CHECKS, "--suppress-health-check", "all", "--warnings", "off", *options),
        ]
        process = await asyncio.create_subprocess_exec(
            *command, cwd=folder, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
        )
        out, _ = await process.communicate()
    said = out.decode()
    found = _CASES.search(said)
    return Tried(process.returncode or 0, int(found[1].replace(",", "")) if found else 0, said)


def narrowed(document: Any) -> Any:
    """With the names of agents: of those that one could make up, none would ever start anything. Without streams, which
    have no end."""
    for path in [path for path in document["paths"] if path.endswith("/stream")]:
        del document["paths"][path]
    for shape in document["components"]["schemas"].values():
        if "agent" in shape.get("required", ()) and shape.get("additionalProperties") is False:
            shape["properties"]["agent"] = {"enum": ["desk", "clerk", "boss"]}
    return document


async def furnish(api: Client) -> None:
    """Something of everything, so that links lead somewhere."""
    done = await api.post("/api/runs", 202, agent="desk", request="hello")
    paying = await api.post("/api/runs", 202, agent="clerk", request="pay")
    asking = await api.post("/api/runs", 202, agent="clerk", request="ask")
    for run in (done, paying, asking):
        await api.ended(run["runId"])
    await api.post("/api/tasks", 201, agent="desk", description="Mend it", steps=["look", "mend"])
    await api.post("/api/tasks/backlog", 201, agent="boss", description="Later")
    steps = [{"description": "Write it", "owner": "desk", "acceptance": "It is there."}]
    plan = await api.post("/api/plans", 201, title="Export", steps=steps, submitted=True)
    await api.post(f"/api/plans/{plan['id']}/approve", commit=True)
    options, voters = [{"id": "a"}, {"id": "b"}], [{"name": "user"}, {"name": "boss"}]
    await api.post("/api/decisions", 201, topic="Which?", options=options, participants=voters)
    work = await api.post("/api/work-sessions", 201, goal="Ship it")
    await api.post(f"/api/work-sessions/{work['id']}/artifacts", kind="doc", title="Notes", content="# Notes")


async def main(options: Sequence[str]) -> int:
    """First every operation by itself; then one after the other along the links, until there are enough."""
    cases, rounds = 0, iter(("fuzzing", *["stateful"] * 50))
    while cases < WANTED and (phase := next(rounds, "")):
        with tempfile.TemporaryDirectory() as folder:
            examples = "8" if phase == "fuzzing" else "250"
            result = await tried(Path(folder), "--phases", phase, "--max-examples", examples, *options)
        print(result.said)
        if result.code:
            return result.code
        cases += result.cases
    print(f"{cases} cases, no fault")
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
