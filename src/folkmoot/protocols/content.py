"""The parts of a chat client's request, in the forms of OpenAI's and Anthropic's APIs: texts, files and tools.

The current request must be readable. Earlier messages and results of tools are never refused, because clients repeat
their whole conversation and it would be lost: a note stands for a part that cannot be read. Files must be in the
request itself: this server fetches nothing for a client.

A tool that is only offered refuses no request: tools that run at the client's usual provider are left out, and a name
that models cannot call, or that is in use here, is replaced. Calls go back under the client's own name and in its form.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from folkmoot.domain.message import Origin, ToolCall, ToolSpec
from folkmoot.domain.naming import wire_name
from folkmoot.domain.part import TEXT, File, media_of, objection
from folkmoot.domain.value import Value
from folkmoot.errors import WrongUse
from folkmoot.http.problems import ChatError

T = TypeVar("T", bound=msgspec.Struct)
ToolName = Annotated[str, Meta(min_length=1)]
Part = dict[str, Any]
Content = str | list[Part] | None
_TEXTS = {
    "text": "text",
    "input_text": "text",
    "output_text": "text",
    "summary_text": "text",
    "refusal": "refusal",
}
"""The field that holds the text of a part, by the part's type."""
_SILENT = ("thinking", "redacted_thinking", "reasoning_text", "tool_use", "tool_result", "encrypted_content")
"""What clients give back as they got it and nobody said, or what is read elsewhere."""

_DATA_URL = re.compile(r"data:([\w.+/-]*)(?:;[\w-]+=[^;,]*)*;base64,", re.IGNORECASE)
_EXTENSIONS = {"image/jpeg": "jpg", "text/plain": "txt"}
_INLINE = "send the content itself, as base64: nothing is fetched for a client"
_TAKEN = "read are text, and images and documents that stand in the request itself"

PLACE = re.compile(r" - at `\$\.?(.*)`$")
"""Where msgspec says that something is wrong."""
_ANYTHING = {"type": "object", "properties": {}}
_ONE_TEXT = {
    "type": "object",
    "properties": {"input": {"type": "string"}},
    "required": ["input"],
    "additionalProperties": False,
}


class MessageContent(Value):
    text: str
    files: tuple[File, ...] = ()


def read_content(content: Content, place: str, *, strict: bool = False, between: str = "") -> MessageContent:
    """`strict`: this is the current request. Raises `ChatError` for a part of it that cannot be read."""
    if not isinstance(content, list):
        return MessageContent(content or "")
    texts: list[str] = []
    files: list[File] = []
    for number, part in enumerate(content):
        try:
            for each in _read_part(part, between):
                if isinstance(each, str):
                    texts.append(each)
                elif (why := objection(each)) and not strict:
                    texts.append(format_note(why, between))
                else:
                    files.append(each)
        except WrongUse as error:
            if strict:
                raise ChatError(400, f"{error}; {_TAKEN}", param=f"{place}[{number}]") from error
            texts.append(format_note(str(error), between))
    return MessageContent(between.join(texts), tuple(files))


def inline_texts(contents: MessageContent) -> MessageContent:
    """With the content of files that hold text as text: of what tools give, models are shown images alone."""
    plain = [file for file in contents.files if media_of(file.content) == TEXT]
    texts = (f"{file.name}:\n{file.content.decode()}" for file in plain)
    rest = tuple(file for file in contents.files if file not in plain)
    return MessageContent("\n\n".join((contents.text, *texts)).strip(), rest) if plain else contents


def format_note(words: str, between: str = "\n\n") -> str:
    """In the place of something that the model does not get."""
    return f"[{words}]" if between else f"\n[{words}]\n"


def _read_part(part: Mapping[str, Any], between: str) -> Iterator[str | File]:
    """Raises `WrongUse`."""
    kind, source = part.get("type"), part.get("source")
    if kind in _TEXTS:
        text = part.get(_TEXTS[kind])
        if not isinstance(text, str):
            raise WrongUse(f"a part of the type {kind!r} holds no text")
        yield text
    elif kind == "search_result":
        head = " ".join(str(part[key]) for key in ("title", "source") if part.get(key))
        yield f"{head}\n{_join_texts(part.get('content'))}"
    elif kind == "document" and isinstance(source, dict) and source.get("type") == "content":
        yield _join_texts(source.get("content"))
    elif kind == "tool_reference":
        yield format_note(
            f"the tool {part.get('tool_name')} is there from the user's next message on", between
        )
    elif file := read_file_part(part):
        yield file
    elif kind not in _SILENT:
        raise WrongUse(f"a part of the type {kind!r} cannot be read here")


def _join_texts(given: Any) -> str:
    """Of the parts inside a part."""
    if not isinstance(given, list):
        return given if isinstance(given, str) else ""
    texts = (part.get("text") for part in given if isinstance(part, dict))
    return "\n\n".join(text for text in texts if isinstance(text, str))


def read_file_part(part: Mapping[str, Any]) -> File | None:
    """The file in a content part; none if it is of another kind, such as text. Raises `WrongUse`."""
    match part:
        case {"type": "image_url", "image_url": {"url": str(url)}} | {
            "type": "image_url" | "input_image",
            "image_url": str(url),
        }:
            return _file_from_url(url, "")
        case {"type": "file", "file": {"file_data": str(data), **more}} | {
            "type": "input_file",
            "file_data": str(data),
            **more,
        }:
            return _file_from_url(data, _file_name(more.get("filename")))
        case {"type": "image" | "document" as kind, "source": dict(source)}:
            return _file_from_source(kind, source, _file_name(part.get("title")))
        case {"type": "image_url" | "input_image" | "file" | "input_file" | "image" | "document" as kind}:
            raise WrongUse(f"a part of type {kind!r} holds no content that can be read here; {_INLINE}")
        case _:
            return None


def _file_from_url(url: str, name: str) -> File:
    """Some clients send base64 without the head of a data URL."""
    head = _DATA_URL.match(url)
    if not head and re.match(r"[a-z][a-z0-9+.-]*:", url, re.IGNORECASE):
        raise WrongUse(f"{url[:80]!r} is an address; {_INLINE}")
    media = head[1].lower() if head else ""
    return _decode_file(url[head.end() :] if head else url, media, name)


def _file_from_source(kind: str, source: Mapping[str, Any], name: str) -> File:
    match source:
        case {"type": "base64", "data": str(data)}:
            return _decode_file(data, str(source.get("media_type") or ""), name)
        case {"type": "text", "data": str(data)}:
            return File(name or "document.txt", data.encode(), "text/plain")
        case _:
            part = f"a part of type {kind!r} with a source of type {source.get('type')!r}"
            raise WrongUse(f"{part} cannot be read here; {_INLINE}")


def _decode_file(data: str, media: str, name: str) -> File:
    name = name or f"{media.partition('/')[0] or 'file'}.{_EXTENSIONS.get(media, media.rpartition('/')[2])}"
    try:
        return File(name.rstrip("."), b64decode("".join(data.split()), validate=True), media)
    except (binascii.Error, ValueError) as error:
        raise WrongUse(f"{name} is no base64: {error}") from None


def _file_name(given: Any) -> str:
    """Without the path that some clients send along."""
    return re.split(r"[/\\]", given)[-1] if isinstance(given, str) else ""


def convert_part(given: Any, type: type[T], place: str) -> T:
    """A part of a body that is read apart from the rest. Raises `ChatError`."""
    try:
        return msgspec.convert(given, type)
    except msgspec.ValidationError as error:
        found = PLACE.search(str(error))
        param = f"{place}.{found[1]}" if found else place
        words = f"{param} is not what is wanted: {PLACE.sub('', str(error))}"
        raise ChatError(400, words, param=param) from error


def parse_tool_call(id: str, name: str, arguments: str) -> ToolCall:
    """Of a client's tool, as the client repeats it."""
    try:
        return ToolCall(id, name, msgspec.json.decode(arguments or "{}", type=dict[str, Any]))
    except msgspec.DecodeError:
        return ToolCall(id, name, malformed=arguments)


class ClientFunction(msgspec.Struct):
    name: ToolName
    description: str | None = None
    parameters: dict[str, Any] | None = None


class Grammar(msgspec.Struct):
    syntax: str = ""
    definition: str = ""


class FreeformFormat(Grammar, kw_only=True):
    """Of the text that a freeform tool takes. OpenAI's two APIs place the grammar differently."""

    type: str
    grammar: Grammar | None = None


class ClientFreeform(msgspec.Struct):
    name: ToolName
    description: str | None = None
    format: FreeformFormat | None = None


class _Namespace(msgspec.Struct):
    name: str
    tools: list[dict[str, Any]]


def read_openai_tools(
    tools: Iterable[dict[str, Any]], place: str, namespace: str = "", *, nested: bool = False
) -> Iterator[ToolSpec]:
    """Those that the client can be asked to call. `nested`: each is described below the name of its type.

    Tools that run elsewhere, or have a protocol of their own, are left out.
    """
    for number, tool in enumerate(tools):
        at, kind = f"{place}[{number}]", tool.get("type")
        described: Any = tool
        if nested and kind in ("function", "custom"):
            if (described := tool.get(kind)) is None:
                raise ChatError(400, f"a tool of the type `{kind}` says in `{kind}` what it is", param=at)
            at = f"{at}.{kind}"
        if kind == "function":
            function = convert_part(described, ClientFunction, at)
            yield function_spec(function.name, function.description, function.parameters, namespace)
        elif kind == "custom":
            yield _freeform_spec(convert_part(described, ClientFreeform, at), namespace)
        elif kind == "namespace" and not nested:
            group = convert_part(tool, _Namespace, at)
            yield from read_openai_tools(group.tools, f"{at}.tools", group.name)


def function_spec(
    name: str, description: str | None, parameters: dict[str, Any] | None, namespace: str = ""
) -> ToolSpec:
    wire = name_for_models(name, namespace)
    origin = Origin(name, namespace) if wire != name else None
    return ToolSpec(wire, description or "", parameters or _ANYTHING, origin=origin)


def _freeform_spec(tool: ClientFreeform, namespace: str) -> ToolSpec:
    about = [tool.description or ""]
    if tool.format and tool.format.type == "grammar":
        grammar = tool.format.grammar or tool.format
        about.append(f"`input` follows this grammar ({grammar.syntax}):\n{grammar.definition}")
    origin = Origin(tool.name, namespace, freeform=True)
    wire = name_for_models(tool.name, namespace)
    return ToolSpec(wire, "\n\n".join(filter(None, about)), _ONE_TEXT, origin=origin)


def name_for_models(name: str, namespace: str = "") -> str:
    return wire_name(f"{namespace}.{name}" if namespace else name)


def rename_used_names(tools: Iterable[ToolSpec], used: Iterable[str]) -> Iterator[ToolSpec]:
    """The same tools, renamed where a name is `used`. Of those that the client itself cannot tell apart, the first."""
    names = {*used}
    seen: set[Origin] = set()
    for spec in tools:
        origin = spec.origin or Origin(spec.name)
        if origin in seen:
            continue
        seen.add(origin)
        name = spec.name
        while name in names:
            name = name_for_models(name, "client")
        names.add(name)
        yield spec if name == spec.name else msgspec.structs.replace(spec, name=name, origin=origin)
