"""What 0.1.0 wrote is read, verified, replayed and gone on with: in SQLite, in PostgreSQL and in bundles."""

import gzip
import json

import psycopg
import pytest

from tests.golden.record.program import RECORD, call, names, restore

LISTS = {
    "runs list": ("runId", ["runs show", "runs audit", "sessions list", "sessions gates", "events --run"]),
    "tasks list --all": ("id", ["tasks show"]),
    "plans list": ("id", ["plans show"]),
    "decisions list": ("id", ["decisions show"]),
    "work list": ("id", ["work show", "work timeline"]),
    "conversations list --all": ("conversationId", ["conversations show --all"]),
    "inbox list --all": ("id", ["inbox show"]),
}
ALONE = ("team", "sinks list", "sessions work", "approvals list --all", "events --limit 1000", "projections")
ENDED = ("completed", "failed", "cancelled")
GOES_ON = (
    ("interrupted", "runs resume {run.interrupted}"),
    ("waiting", "approvals approve {item.waiting} --resume"),
    ("denied", "approvals deny {item.denied} --reason no --resume"),
    ("asking", "inbox answer {item.asking} blue --resume"),
    ("doubt", "inbox settle {item.doubt} retry --resume"),
)
"""How the runs that 0.1.0 left are brought to their end."""
WORK = (
    "tasks complete {task.working} --force",
    "tasks approve {task.approval}",
    "tasks resume {task.blocked}",
    "plans submit {plan.draft}",
    "plans approve {plan.submitted} --commit",
    "plans commit {plan.approved}",
    "plans resume {plan.started} s2",
    "plans accept {plan.started} s3",
    "plans run {plan.started} s1",
    "decisions commit {decision.decided}",
    "decisions commit {decision.escalated} --option sqlite",
    "work resume {work.paused}",
    "work state {work.executing} Reviewing",
    "work complete {work.executing} --summary done",
    "sinks run --once",
)


class Desk:
    """A project with a journal of 0.1.0."""

    def __init__(self, folder, known):
        self._folder = folder
        self._known = known
        assert call(folder, "trust", "--yes").code == 0

    def adopted(self):
        """As its user does after the upgrade."""
        self("journal adopt")
        return self

    def __call__(self, command, *more):
        for name, id in self._known.items():
            command = command.replace(f"{{{name}}}", id)
        done = call(self._folder, *command.split(), *more)
        assert done.code == 0, f"{command}: {done.code}: {done.err or done.out}"
        return done

    def json(self, command, *more):
        return self(command, *more, "--json").json

    def ended(self):
        return [run["runId"] for run in self.json("runs list") if run["status"] in ENDED]

    def status(self, name):
        run = next(run for run in self.json("runs list") if run["runId"] == self._known[f"run.{name}"])
        return run["status"]


@pytest.fixture(params=["sqlite", "postgres"])
def desk(request, tmp_path):
    if request.param == "sqlite":
        return Desk(restore(tmp_path / "desk"), names()).adopted()
    server = request.getfixturevalue("postgres")
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS folkmoot_record CASCADE")
        connection.execute(gzip.decompress((RECORD / "postgres.sql.gz").read_bytes()))
    folder = restore(tmp_path / "desk")
    (folder / ".folkmoot" / "folkmoot.db").unlink()
    with (folder / "folkmoot.yaml").open("a") as settings:
        settings.write(f"storage: {{url: '{server.url}', project: record}}\n")
    return Desk(folder, json.loads((RECORD / "postgres.names.json").read_text())).adopted()


def test_everything_that_0_1_0_wrote_is_read(desk):
    """Every list, and every record in it."""
    counts = {}
    for command, (key, shows) in LISTS.items():
        found = desk.json(command)
        counts[command] = len(found)
        for each in found:
            for show in shows:
                desk.json(f"{show} {each[key]}")
    for command in ALONE:
        desk.json(command)
    exported = [json.loads(line) for line in desk("log export").out.splitlines()]

    assert all(counts.values()), counts
    assert {run["status"] for run in desk.json("runs list")} >= {*ENDED, "pruned", "waiting", "interrupted"}
    assert len({line["type"] for line in exported}) > 80


def test_verify_finds_no_fault_and_every_ended_run_happens_again(desk):
    assert desk.json("verify")["holds"]
    for run in desk.ended():
        assert desk.json(f"runs replay {run}")["equal"]


def test_what_0_1_0_left_is_gone_on_with_to_its_end(desk):
    """The run whose process was killed, those that wait for a person, and the work that was under way."""
    for name, command in GOES_ON:
        desk(command)
        assert desk.status(name) == "completed"
    for command in WORK:
        desk(command)

    assert desk.json("verify")["holds"]
    for run in desk.ended():
        assert desk.json(f"runs replay {run}")["equal"]


@pytest.mark.parametrize("bundle", sorted(file.stem for file in (RECORD / "bundles").iterdir()))
def test_a_bundle_of_0_1_0_is_verified_imported_and_gone_on_with(bundle, tmp_path):
    folder = restore(tmp_path / "desk")
    (folder / ".folkmoot" / "folkmoot.db").unlink()
    desk = Desk(folder, names())
    file = str(RECORD / "bundles" / f"{bundle}.zip")

    assert desk.json("verify", file)["holds"]
    assert desk.json("journal import", file)["runs"]
    desk.adopted()
    held = {run["runId"] for run in desk.json("runs list")}
    for name, command in GOES_ON:
        if names()[f"run.{name}"] in held:
            desk(command)
    assert desk.json("verify")["holds"]
    for run in desk.ended():
        assert desk.json(f"runs replay {run}")["equal"]
