"""The API as an OpenAPI document, made from its operations: nothing is said twice."""

from __future__ import annotations

import http
import inspect
from collections.abc import Sequence
from functools import cache
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from folkmoot import __version__
from folkmoot.http.api import OPERATIONS
from folkmoot.http.endpoint import Endpoint
from folkmoot.http.problems import ProblemDetails
from folkmoot.http.requests import HEADER, LONGEST
from folkmoot.loader.walk import field_lines

_TEMPLATE = "#/components/schemas/{name}"
_ABOUT = (
    "Everything that the terminal can do with a project. Lists come in pages: `limit` says how many, and a"
    " `Link` header leads to the next. A POST under an `Idempotency-Key` may be sent again: it is done once."
)
_MEANINGS = {
    400: "The query, the body or the key is not what is wanted.",
    401: "The token is missing or wrong.",
    403: "Another site asks.",
    404: "What is named does not exist.",
    409: "The state of things does not allow it.",
    408: "The request did not come in time.",
    413: "The body is too long.",
    415: "The body is not `application/json`.",
    421: "This server does not answer under that name.",
    422: "The Idempotency-Key was used for another request.",
    429: "Too many wrong tokens come at once.",
    431: "The headers are too many or too long.",
    503: "Too many connections are open, or the disk, a server or another process did not do its part.",
}


@cache
def get_openapi_document() -> dict[str, Any]:
    return build_openapi_document(OPERATIONS)


def build_openapi_document(operations: Sequence[Endpoint]) -> dict[str, Any]:
    types = [type for each in operations for type in (each.answer, each.body) if type is not None]
    schemas, components = msgspec.json.schema_components([*types, ProblemDetails], ref_template=_TEMPLATE)
    found = iter(schemas)
    paths: dict[str, dict[str, Any]] = {}
    for each in operations:
        answer = next(found)
        body = next(found) if each.body else None
        paths.setdefault(f"/api{each.path}", {})[each.method.lower()] = _build_operation(each, answer, body)
    _add_descriptions(operations, components)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Folkmoot", "version": __version__, "description": _ABOUT},
        "paths": paths,
        "components": {
            "schemas": components,
            "responses": {str(status): _problem_response(status) for status in _MEANINGS},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _build_operation(operation: Endpoint, answer: Any, body: Any) -> dict[str, Any]:
    about = inspect.getdoc(operation.handle)
    good: dict[str, Any] = {
        "description": http.HTTPStatus(operation.status).phrase,
        "content": {media: {"schema": _content_schema(answer, media)} for media in operation.media},
    }
    if operation.query and "limit" in operation.query.__struct_fields__:
        further = {"description": "The next page, if there is one.", "schema": {"type": "string"}}
        good["headers"] = {"Link": further}
    if operation.links:
        good["links"] = {
            name: {"operationId": name, "parameters": dict(given)} for name, given in operation.links.items()
        }
    problems = {str(status): {"$ref": f"#/components/responses/{status}"} for status in operation.refusals}
    return {
        "operationId": operation.id,
        "summary": operation.summary,
        **({"description": about} if about else {}),
        "tags": [operation.path.split("/")[1]],
        **({"parameters": parameters} if (parameters := _build_parameters(operation)) else {}),
        **({"requestBody": {"required": True, "content": _json_content(body)}} if body else {}),
        "responses": {str(operation.status): good, **problems},
        "security": [{"token": []}, {}] if 401 in operation.refusals else [],
    }


def _build_parameters(operation: Endpoint) -> list[dict[str, Any]]:
    text = {"type": "string", "minLength": 1, "pattern": "^[^/]+$"}
    found: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": text} for name in operation.parameters
    ]
    if operation.query:
        found += _build_query_parameters(operation.query)
    if operation.is_repeatable:
        about = "Whoever sends the request again under the same key gets the same answer."
        schema = {"type": "string", "maxLength": LONGEST, "pattern": "^[!-~]*$"}
        found.append({"name": HEADER, "in": "header", "description": about, "schema": schema})
    return found


def _build_query_parameters(query: type[msgspec.Struct]) -> list[dict[str, Any]]:
    (_,), components = msgspec.json.schema_components([query], ref_template=_TEMPLATE)
    shape, lines = components[query.__name__], _field_descriptions(query)
    names = {field.encode_name: field.name for field in msgspec.structs.fields(query)}
    return [
        {
            "name": name,
            "in": "query",
            **({"required": True} if name in shape.get("required", ()) else {}),
            **(
                {"description": about} if (about := schema.pop("description", lines.get(names[name]))) else {}
            ),
            "schema": _remove_null(schema),
        }
        for name, schema in shape["properties"].items()
    ]


def _remove_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A query cannot say null; whoever means it leaves the parameter out."""
    kinds = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    plain = {key: value for key, value in schema.items() if key != "anyOf" and value is not None}
    if "enum" in plain:
        plain["enum"] = [value for value in plain["enum"] if value is not None]
    return {**plain, **(kinds[0] if kinds else {})}


def _add_descriptions(operations: Sequence[Endpoint], components: dict[str, Any]) -> None:
    """The lines beneath the fields of bodies become descriptions."""
    for operation in operations:
        if operation.body and (shape := components.get(operation.body.__name__)):
            names = {field.name: field.encode_name for field in msgspec.structs.fields(operation.body)}
            for name, line in _field_descriptions(operation.body).items():
                shape["properties"][names[name]].setdefault("description", line)


def _field_descriptions(struct: type[msgspec.Struct]) -> dict[str, str]:
    own = field_lines(struct)
    return {name: own[name] for name in struct.__struct_fields__ if name in own}


def _content_schema(answer: Any, media: str) -> Any:
    return answer if media == "application/json" else {"type": "string"}


def _json_content(schema: Any) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _problem_response(status: int) -> dict[str, Any]:
    schema = {"$ref": _TEMPLATE.format(name=ProblemDetails.__name__)}
    return {"description": _MEANINGS[status], "content": {"application/problem+json": {"schema": schema}}}


async def _serve_document(request: Request) -> Response:
    return Response(msgspec.json.encode(get_openapi_document()), media_type="application/json")


ROUTE = Route("/api/openapi.json", _serve_document, name="openapi")
