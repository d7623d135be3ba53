"""The rows of the read model as SQL that SQLite and PostgreSQL both understand, with `?` for each value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from folkmoot.domain.inbox import WORDS, Item, Kind
from folkmoot.domain.read_model import Changes, RecordRow
from folkmoot.domain.run_row import OPEN_STATUSES, RunSummary, Spend, SpendSum, agents_of
from folkmoot.ports import ItemQuery, RecordQuery, RunQuery, SpendQuery

VERSION = 3
"""Of the tables; rows of another version are made anew."""
TABLES = ("read_model", "runs", "run_texts", "inbox", "spend", "records")
_SUBJECT = 200
_OUTCOMES: dict[Kind, str] = {"approval": "expire", "client_call": "cancel_run"}
_RUN = (
    *("run", "began", "agent", "status", "started", "ended", "error", "work_session", "label", "part"),
    *("chain", "tokens", "cost", "seconds", "until", "task"),
)
_CHANGING = ("status", "ended", "error", "chain", "tokens", "cost", "seconds", "until")
"""Without `started`: SQLite would write the index again that begins with it."""
_ITEM = (
    *("run", "id", "asked", "kind", "subject", "assignee", "since", "deadline", "outcome", "answers"),
    *("status", "body"),
)
_HAS_WORD = """(words LIKE ? ESCAPE '!' OR lower(chain) LIKE ? ESCAPE '!'
  OR lower(coalesce(error, '')) LIKE ? ESCAPE '!' OR (status = 'waiting' AND EXISTS (SELECT 1 FROM inbox
    WHERE inbox.run = runs.run AND inbox.status = 'open' AND lower(subject) LIKE ? ESCAPE '!')))"""
_OPEN_SUM = """
CASE WHEN status IN ('', 'waiting') THEN (SELECT coalesce(sum({}), 0) FROM spend WHERE spend.run = runs.run)
  ELSE runs.{} END"""
_TOKENS = f"CAST({_OPEN_SUM.format('tokens_in + tokens_out', 'tokens')} AS bigint)"
_COST = _OPEN_SUM.format("cost", "cost")
_SORTS = {
    "started": "started {0}, began {0}",
    "duration": "seconds {0}",
    "tokens": f"{_TOKENS} {{0}}",
    "cost": f"{_COST} {{0}}",
}
_WITH_TEXTS = "runs JOIN run_texts USING (run)"
_LISTED = ", ".join({"tokens": _TOKENS, "cost": _COST}.get(name, f"runs.{name}") for name in _RUN)

Progress = Callable[[int, int], None]
"""Told how many entries of how many are applied."""
Statement = tuple[str, list[Sequence[Any]]]
"""To be executed once for each of the rows of values."""


class ReadModel:
    """Answers what is asked of the tables, wherever these are."""

    async def select(self, statement: str, values: Sequence[object]) -> list[Any]:
        """Rows of the tables, which are up to date."""
        raise NotImplementedError

    async def runs(self, query: RunQuery) -> list[RunSummary]:
        return [*map(_run_of, await self.select(*_run_select(query)))]

    async def count_runs(self, query: RunQuery) -> int:
        rows = await self.select(*_run_select(query, count=True))
        return int(rows[0][0]) if rows else 0

    async def group_runs(self, query: RunQuery, by: Sequence[str]) -> list[tuple[Any, ...]]:
        return [*map(tuple, await self.select(*_group_select(query, by)))]

    async def items(self, query: ItemQuery) -> list[Item]:
        return [_ITEMS.decode(body) for (body,) in await self.select(*_item_select(query))]

    async def records(self, query: RecordQuery) -> list[RecordRow]:
        return [RecordRow(*row) for row in await self.select(*_record_select(query))]

    async def spend(self, query: SpendQuery) -> list[SpendSum]:
        return [SpendSum(*row) for row in await self.select(*_spend_select(query))]


def writing(changes: Changes) -> Iterator[Statement]:
    """The statements that store changed rows."""
    if changes.erased:
        yield "DELETE FROM inbox WHERE run = ?", [(run,) for run in changes.erased]
    if changes.unpaid:
        yield "DELETE FROM spend WHERE run = ?", [(run,) for run in changes.unpaid]
    if changes.begun:
        yield _UPSERT_RUN, [_run_values(run) for run in changes.begun]
        yield _UPSERT_TEXT, [(run.run, bytearray(run.request, "utf-8"), _words(run)) for run in changes.begun]
    if changes.runs:
        yield _UPDATE_RUN, [_changing_values(run) for run in changes.runs]
    if changes.items:
        yield _UPSERT_ITEM, [_item_values(*item) for item in changes.items]
    if changes.spend:
        yield _INSERT_SPEND, [msgspec.structs.astuple(row) for row in changes.spend]
    if changes.records:
        yield _UPSERT_RECORD, [msgspec.structs.astuple(row) for row in changes.records]


def _run_select(query: RunQuery, *, count: bool = False) -> tuple[str, list[Any]]:
    """The rows of `runs` that are wanted, or how many they are."""
    condition, values = _run_condition(query)
    source = _WITH_TEXTS if query.words else "runs"
    if count:
        return f"SELECT count(*) FROM {source} WHERE {condition}", values
    way = "DESC" if query.sort.startswith("-") else "ASC"
    order = _SORTS[query.sort.removeprefix("-")].format(way)
    if not query.sort.endswith("started"):
        order += ", started DESC, began DESC"
    page = f" LIMIT {query.limit} OFFSET {query.offset}" if query.limit else ""
    # Texts may be long: only those of the rows that are left are read.
    chosen = f"SELECT runs.* FROM {source} WHERE {condition} ORDER BY {order}{page}"
    return (
        f"SELECT {_LISTED}, request FROM ({chosen}) AS runs JOIN run_texts USING (run) ORDER BY {order}",
        values,
    )


def _group_select(query: RunQuery, by: Sequence[str]) -> tuple[str, list[Any]]:
    """How many of the wanted runs have the same values in these columns."""
    condition, values = _run_condition(query)
    columns = ", ".join({"tokens": _TOKENS, "cost": _COST}.get(name, f"runs.{name}") for name in by)
    places = ", ".join(str(place + 1) for place in range(len(by)))
    source = _WITH_TEXTS if query.words else "runs"
    return f"SELECT {columns}, count(*) FROM {source} WHERE {condition} GROUP BY {places}", values


def _run_condition(query: RunQuery) -> tuple[str, list[Any]]:
    conditions, values = ["TRUE"], list[Any]()
    for column, allowed in (("runs.run", query.runs), ("status", query.statuses), ("agent", query.agents)):
        if allowed is not None:
            conditions.append(f"{column} IN ({','.join('?' * len(allowed))})" if allowed else "FALSE")
            values += allowed
    if query.statuses is not None and {*query.statuses} <= {*OPEN_STATUSES}:
        conditions.append("status IN ('', 'waiting')")  # word for word the condition of the index `runs_open`
    for condition, given in _single_conditions(query):
        conditions.append(condition)
        values += given
    return " AND ".join(conditions), values


def _single_conditions(query: RunQuery) -> Iterator[tuple[str, Sequence[Any]]]:
    if query.agent:
        file = f"{query.agent}.ai"
        yield "(agent IN (?, ?) OR agent LIKE ? ESCAPE '!')", (query.agent, file, f"%{_escape(f'/{file}')}")
    if query.prefix:
        yield "runs.run >= ? AND runs.run < ?", (query.prefix, query.prefix + "\U0010ffff")
    if query.work_session:
        yield "work_session = ?", (query.work_session,)
    if query.task:
        yield "task = ?", (query.task,)
    if query.through:
        chain = f"%{_escape(f'{chr(10)}{query.through}{chr(10)}')}%"
        yield "(chain LIKE ? ESCAPE '!' OR agent = ?)", (chain, f"{query.through}.ai")
    if query.since:
        yield "started >= ?", (query.since,)
    if query.before:
        started, began = query.before
        yield "(started < ? OR started = ? AND began < ?)", (started, started, began)
    for word in query.words:
        yield _HAS_WORD, [f"%{_escape(word)}%"] * 4


def _item_select(query: ItemQuery) -> tuple[str, list[Any]]:
    conditions, values = ["TRUE"], list[Any]()
    for column in ("id", "run", "status"):
        if wanted := getattr(query, column):
            conditions.append(f"{column} = ?")
            values.append(wanted)
    return f"SELECT body FROM inbox WHERE {' AND '.join(conditions)} ORDER BY asked", values


def _record_select(query: RecordQuery) -> tuple[str, list[Any]]:
    conditions, values = ["TRUE"], list[Any]()
    if query.kind:
        conditions.append("kind = ?")
        values.append(query.kind)
    for column in ("agent", "work_session"):
        if wanted := getattr(query, column):
            conditions.append(f"({column} = ? OR status = '')")  # who lists what is damaged is told
            values.append(wanted)
    if query.prefix:
        conditions.append("id >= ? AND id < ?")
        values += (query.prefix, query.prefix + "\U0010ffff")
    if query.statuses is not None:
        conditions.append(f"status IN (''{',?' * len(query.statuses)})")
        values += query.statuses
    order = "began DESC LIMIT 1" if query.last else "began"
    return (
        f"SELECT {', '.join(_RECORD)} FROM records WHERE {' AND '.join(conditions)} ORDER BY {order}",
        values,
    )


def _spend_select(query: SpendQuery) -> tuple[str, list[Any]]:
    name = {"": "''", "day": "substr(spend.at, 1, 10)"}.get(query.by, f"spend.{query.by}")
    conditions, values, source = ["TRUE"], list[Any](), "spend"
    if query.runs is not None:
        conditions.append(f"spend.run IN ({','.join('?' * len(query.runs))})" if query.runs else "FALSE")
        values += query.runs
    if query.work_session:
        source = "spend JOIN runs ON runs.run = spend.run"
        conditions.append("work_session = ?")
        values.append(query.work_session)
    for sign, moment in ((">=", query.since), ("<", query.until)):
        if moment:
            conditions.append(f"spend.at {sign} ?")
            values.append(moment)
    sums = ", ".join(f"CAST(sum(spend.{column}) AS bigint)" for column in _COUNTS)
    return (
        f"SELECT {name} AS name, count(*), {sums}, sum(spend.cost), count(DISTINCT spend.session) FROM {source}"
        f" WHERE {' AND '.join(conditions)} GROUP BY 1 ORDER BY 1"
    ), values


def _run_of(row: Sequence[Any]) -> RunSummary:
    run, began, agent, status, started, ended, error, work_session, label, part, chain, *sums, request = row
    known = (run, began, agent, status, started, request.decode(), ended, error, work_session, label, part)
    return RunSummary(*known, agents_of(chain), *sums)


def _escape(text: str) -> str:
    for special in "!%_":
        text = text.replace(special, f"!{special}")
    return text


def _run_values(run: RunSummary) -> Sequence[Any]:
    known = (run.run, run.began, run.agent, run.status, run.started_at, run.ended_at, run.error)
    named = (run.work_session, run.label, run.part)
    return (*known, *named, _chain(run), run.tokens, run.cost, run.seconds, run.until, run.task)


def _changing_values(run: RunSummary) -> Sequence[Any]:
    sums = (run.tokens, run.cost, run.seconds, run.until)
    return (run.status, run.ended_at, run.error, _chain(run), *sums, run.run)


def _chain(run: RunSummary) -> str:
    return "\n".join(("", *run.chain, "")) if run.chain else ""


def _words(run: RunSummary) -> str:
    return " ".join((run.label, run.run, run.request)).lower()


def _item_values(asked: int, item: Item) -> Sequence[Any]:
    subject = " ".join((item.question or item.preview or item.tool).split())[:_SUBJECT]
    answers = " ".join(WORDS[item.kind])
    outcome = _OUTCOMES.get(item.kind, "") if item.until else ""
    assignee = item.approvers[0] if item.approvers else ""
    known = (item.run, item.id, asked, item.kind, subject, assignee, item.at, item.until, outcome, answers)
    return (*known, item.status, msgspec.json.encode(item))


_ITEMS = msgspec.json.Decoder(Item)
_SPEND = Spend.__struct_fields__
_RECORD = RecordRow.__struct_fields__
_COUNTS = ("failed", "tokens_in", "tokens_out", "cache_read", "cache_write")


def _insert(table: str, names: Sequence[str], key: str, changing: Sequence[str]) -> str:
    """Values of a row that is there already are replaced."""
    values = ",".join("?" * len(names))
    changes = ", ".join(f"{name} = excluded.{name}" for name in changing)
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES ({values}) ON CONFLICT ({key}) DO UPDATE SET {changes}"


_UPSERT_RUN = _insert("runs", _RUN, "run", _RUN[1:])
_UPSERT_TEXT = _insert("run_texts", ("run", "request", "words"), "run", ("request", "words"))
_UPDATE_RUN = f"UPDATE runs SET {', '.join(f'{name} = ?' for name in _CHANGING)} WHERE run = ?"
_UPSERT_ITEM = _insert("inbox", _ITEM, "run, id", _ITEM[2:])
_INSERT_SPEND = _insert("spend", _SPEND, "run, place", _SPEND[2:])
_UPSERT_RECORD = _insert("records", _RECORD, "id", _RECORD[3:])
