"""Endpoints made from operations."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import NoneType
from typing import Annotated, Any, get_args, get_origin

import msgspec
from msgspec import NODEFAULT, Meta

from folkmoot.coordination.record_store import PERSON
from folkmoot.http.endpoint import ApiRequest, Document, Endpoint
from folkmoot.http.requests import (
    ApiInput,
    AuthoredInput,
    BackwardPageQuery,
    PageQuery,
    ResultPage,
    paginate_rows,
)
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
        answer=_answer_type(operation),
        status=201 if operation.creates and http.status == 200 else http.status,
        problems=http.problems,
        links={name: _to_link_parameters(place) for name, place in (http.links or {}).items()},
    )
    given = [field for field in fields_of(operation) if _is_input_field(field, operation)]
    if http.method != "GET":
        return replace(made, body=_define_struct(operation, given, AuthoredInput if http.by else ApiInput))
    pages: dict[str, type[ApiInput]] = {"after": PageQuery, "before": BackwardPageQuery}
    base = pages.get(http.pages, ApiInput) if _is_list(operation) else ApiInput
    return (
        replace(made, query=_define_struct(operation, given, base)) if given or base is not ApiInput else made
    )


def _make_handler(operation: OperationType) -> Callable[[ApiRequest], Awaitable[Any]]:
    assert operation.http
    pages, row_id = operation.http.pages, _make_id_getter(operation.http.row_id)

    async def handle(asked: ApiRequest) -> Any:
        wanted = _build_operation(operation, asked)
        by: str = getattr(asked.body, "by", PERSON)
        actor = by_name(by, asked.moot.graph, "http", asked.chance)
        output = await wanted.run(asked.house.project, actor)
        if operation.creates:
            asked.must_repeat(wanted.repeats(output))
        document = wanted.document(output)
        if isinstance(document, RowPage):
            return ResultPage(document.rows, pages, document.further)
        if asked.query and pages == "after" and _is_list(operation):
            return paginate_rows(document, asked.query, row_id)
        return document

    return handle


def _build_operation(operation: OperationType, asked: ApiRequest) -> Operation[Any]:
    given = asked.body or asked.query
    in_path = {operation.subject if name == "id" else name: value for name, value in asked.path.items()}
    values = {
        field.name: getattr(given, field.name) for field in fields_of(operation) if hasattr(given, field.name)
    }
    return read_operation(operation, values | in_path)


def _is_input_field(field: Field, operation: OperationType) -> bool:
    """Not in the address, and not for others only."""
    assert operation.http
    in_path = field.name == operation.subject or f"{{{field.name}}}" in operation.http.path
    return field.spelling.http and not in_path


def _define_struct(
    operation: OperationType, fields: Sequence[Field], base: type[ApiInput]
) -> type[msgspec.Struct]:
    made = [
        (field.name, _annotate_type(field), *(() if field.default is NODEFAULT else (field.default,)))
        for field in fields
    ]
    names = {field.name: field.json_name for field in fields}
    return msgspec.defstruct(
        operation.__name__, made, bases=(base,), kw_only=True, rename=names, module=operation.__module__
    )


def _to_link_parameters(place: str | Mapping[str, str]) -> Mapping[str, str]:
    return {"id": place} if isinstance(place, str) else place


def _annotate_type(field: Field) -> Any:
    return Annotated[field.type, Meta(description=field.help)] if field.help else field.type


def _is_list(operation: OperationType) -> bool:
    return get_origin(output_of(operation)) in (list, RowPage)


def _make_id_getter(field: str) -> Callable[[Any], str]:
    return lambda row: str(row[field] if isinstance(row, dict) else getattr(row, field))


def _answer_type(operation: OperationType) -> Any:
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
