"""Endpoints made from operations."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import NoneType
from typing import Annotated, Any, get_args, get_origin

import msgspec
from msgspec import NODEFAULT, Meta

from folkmoot.coordination.record_store import PERSON
from folkmoot.http.endpoint import Asked, Document, Endpoint
from folkmoot.http.requests import Back, Given, Page, Part, Said, part
from folkmoot.operations.actor import by_name
from folkmoot.operations.operation import (
    Field,
    Operation,
    OperationType,
    RowPage,
    fields_of,
    id_of,
    output_of,
    read_operation,
    summary_of,
)


def make_endpoints(operations: Iterable[OperationType]) -> tuple[Endpoint, ...]:
    return tuple(make_endpoint(each) for each in operations if each.http)


def make_endpoint(operation: OperationType) -> Endpoint:
    http = operation.http
    assert http
    summary, about = summary_of(operation)
    handle = _make_handler(operation)
    handle.__doc__ = about or None
    made = Endpoint(
        method=http.method,
        path=http.path,
        summary=summary,
        handle=handle,
        name=id_of(operation),
        answer=_answer(operation),
        status=201 if operation.creates and http.status == 200 else http.status,
        problems=http.problems,
        links={name: _link(place) for name, place in (http.links or {}).items()},
    )
    given = [field for field in fields_of(operation) if _is_given(field, operation)]
    if http.method != "GET":
        return replace(made, body=_struct(operation, given, Said if http.by else Given))
    pages: dict[str, type[Given]] = {"after": Page, "before": Back}
    base = pages.get(http.pages, Given) if _is_list(operation) else Given
    return replace(made, query=_struct(operation, given, base)) if given or base is not Given else made


def _make_handler(operation: OperationType) -> Callable[[Asked], Awaitable[Any]]:
    assert operation.http
    pages, row_id = operation.http.pages, _id_of(operation.http.row_id)

    async def handle(asked: Asked) -> Any:
        wanted = _read(operation, asked)
        by: str = getattr(asked.body, "by", PERSON)
        actor = by_name(by, asked.moot.graph, "http", asked.chance)
        output = await wanted.run(asked.house.project, actor)
        if operation.creates:
            asked.must_repeat(wanted.repeats(output))
        document = wanted.document(output)
        if isinstance(document, RowPage):
            return Part(document.rows, pages, document.further)
        if asked.query and pages == "after" and _is_list(operation):
            return part(document, asked.query, row_id)
        return document

    return handle


def _read(operation: OperationType, asked: Asked) -> Operation[Any]:
    given = asked.body or asked.query
    in_path = {operation.subject if name == "id" else name: value for name, value in asked.path.items()}
    values = {
        field.name: getattr(given, field.name) for field in fields_of(operation) if hasattr(given, field.name)
    }
    return read_operation(operation, values | in_path)


def _is_given(field: Field, operation: OperationType) -> bool:
    """Not in the address, and not for others only."""
    assert operation.http
    in_path = field.name == operation.subject or f"{{{field.name}}}" in operation.http.path
    return field.spelling.http and not in_path


def _struct(operation: OperationType, fields: Sequence[Field], base: type[Given]) -> type[msgspec.Struct]:
    made = [
        (field.name, _described(field), *(() if field.default is NODEFAULT else (field.default,)))
        for field in fields
    ]
    names = {field.name: field.json_name for field in fields}
    return msgspec.defstruct(
        operation.__name__, made, bases=(base,), kw_only=True, rename=names, module=operation.__module__
    )


def _link(place: str | Mapping[str, str]) -> Mapping[str, str]:
    return {"id": place} if isinstance(place, str) else place


def _described(field: Field) -> Any:
    return Annotated[field.type, Meta(description=field.help)] if field.help else field.type


def _is_list(operation: OperationType) -> bool:
    return get_origin(output_of(operation)) in (list, RowPage)


def _id_of(field: str) -> Callable[[Any], str]:
    return lambda row: str(row[field] if isinstance(row, dict) else getattr(row, field))


def _answer(operation: OperationType) -> Any:
    assert operation.http
    output = output_of(operation)
    if operation.http.answer is not None:
        return operation.http.answer
    plain = operation.document is Operation.document
    if _is_list(operation):
        return list[get_args(output)[0]] if plain else list[Document]  # type: ignore[misc]
    if plain:
        return output
    return Document | None if NoneType in get_args(output) else Document
