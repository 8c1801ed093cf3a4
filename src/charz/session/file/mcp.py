"""The command that serves a session's methods as tools of the Model Context Protocol."""

from __future__ import annotations

import dataclasses
import inspect
import json
import math
import types
import typing
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from charz import __version__
from charz.schema.errors import CharzError

from ..answer import Rows, answer
from ..core import Core
from ..messages import Messages
from ..method import methods_of
from ..parameters import Text

MOST_ANSWER_LETTERS = 1_000_000
"""Largest number of characters of an answer, since language models have bounded context windows."""
MOST_LETTERS = 20_000
"""Largest number of characters of a value."""

_RUNS_HERE = {"mcp"}
"""Methods that start a server on this machine and change no database."""

_SERVES = {"engine", "mcp"}
"""Methods that start a server, which are not offered as tools."""

_INSTRUCTIONS = (
    "charz predicts time, energy and memory of neural networks on CPUs, GPUs, TPUs and KPUs, from a database of models and parts."
    " `models` lists the models, `hardware_list` the parts; every answer is rows in SI units; the names of columns end in their"
    " units. `sql` runs any query: `schema` lists tables, views and their columns."
)

_FURTHER: dict[Any, dict[str, Any]] = {
    inspect.Parameter.VAR_POSITIONAL: {"type": "array", "description": "Arguments of the method to run."},
    inspect.Parameter.VAR_KEYWORD: {"type": "object", "description": "Options of the method to run, by name."},
}
"""JSON schema of arguments that are passed on to another method."""

_NUMBERS = {int: "integer", float: "number", bool: "boolean", str: "string"}


class Mcp(Core):
    """Server of the Model Context Protocol."""

    @answer()
    def mcp(
        self,
        *,
        write: Annotated[bool, Text("Include tools that change the database, write files or run models.")] = False,
        top: Annotated[int, Text("Largest number of rows in an answer.", least=1, most=10_000)] = 100,
    ) -> Rows:
        """Serve the session's methods as tools of a Model Context Protocol server on standard input and output, until the client disconnects.

        The tools are read-only unless started with --write. The package `mcp` is required: `pip install 'charz-dnn[mcp]'`.
        """
        try:
            import anyio
            from mcp.server.stdio import stdio_server
        except ModuleNotFoundError:
            raise CharzError("a server of tools needs mcp", next="pip install 'charz-dnn[mcp]'") from None
        self.access = dataclasses.replace(self.access, may_ingest=write)
        toolbox = Toolbox(self, write, top)
        server = toolbox.server()

        async def serve() -> None:
            async with stdio_server() as (incoming, outgoing):
                await server.run(incoming, outgoing, server.create_initialization_options())

        anyio.run(serve)
        counts = ", ".join(f"{name} {count}" for name, count in sorted(toolbox.calls.items()))
        self.messages.remark(f"calls: {counts or 'none'}")
        return Rows((), [])


class Toolbox:
    """Methods of a session as tools of the Model Context Protocol."""

    def __init__(self, session: Core, is_writing: bool, most_rows: int) -> None:
        self._session, self._most_rows, self._is_writing = session, most_rows, is_writing
        self._methods = dict(_offered(type(session), is_writing))
        self.calls: Counter[str] = Counter()
        """Number of calls of each tool."""

    def server(self) -> Any:
        """Make a server that lists and calls the tools."""
        import anyio
        import mcp_types
        from mcp.server.lowlevel import Server

        one_at_a_time = anyio.CapacityLimiter(1)

        async def listed(_: Any, __: Any) -> Any:
            return mcp_types.ListToolsResult(tools=[mcp_types.Tool(**tool) for tool in self.tools()])

        async def called(_: Any, params: Any) -> Any:
            text, is_error = await anyio.to_thread.run_sync(
                self.call, params.name, params.arguments or {}, limiter=one_at_a_time
            )
            content = [mcp_types.TextContent(type="text", text=text)]
            return mcp_types.CallToolResult(content=content, is_error=is_error)

        about = {"version": __version__, "instructions": _INSTRUCTIONS}
        return Server("charz", **about, on_list_tools=listed, on_call_tool=called)

    def tools(self) -> Iterator[dict[str, Any]]:
        """Yield name, description and JSON schema of the arguments of each tool."""
        for name, method in self._methods.items():
            yield {"name": name, "description": method.help, "input_schema": self._schema(method)}

    def call(self, name: str, arguments: Mapping[str, Any]) -> tuple[str, bool]:
        """Call a tool. Return the answer as JSON and False, or the line of an error and True."""
        said: list[str] = []
        before, self._session.messages = self._session.messages, Messages(said.append, said.append).once()
        self.calls[name] += 1
        try:
            found = self._rows(name, arguments)
            rows, total = found.first(self._most_rows)
            self._session.remind()
        except CharzError as error:
            return error.line, True
        except Exception as error:  # noqa: BLE001  a failed answer does not stop the server
            return f"{type(error).__name__}: {' '.join(str(error).split())}", True
        finally:
            self._session.messages = before
        told, is_cut = _within(
            {column: _plain(value) for column, value in zip(found.columns, row, strict=True)} for row in rows
        )
        if is_cut:
            said.append(f"texts of more than {MOST_LETTERS:,} letters are cut; `sql` with substr shows other parts")
        if total > len(told):
            said.append(f"{len(told)} of {total} rows; narrow the question, or ask `sql` with ORDER BY and LIMIT")
        return json.dumps({"rows": told, "row_count": total, "notes": said}, ensure_ascii=False, default=str), False

    def _rows(self, name: str, arguments: Mapping[str, Any]) -> Rows:
        arguments = {argument: value for argument, value in arguments.items() if value is not None}
        method = self._known(name, arguments)
        if absent := [argument for argument in self._schema(method)["required"] if argument not in arguments]:
            raise CharzError("an argument is missing", f"{name}: {', '.join(absent)}")
        owner = getattr(self._session, method.group) if method.group else self._session
        given = {_parameter_name(method, argument): value for argument, value in arguments.items()}
        kinds = {
            parameter.kind: parameter.name for parameter in inspect.signature(method.asked.rows).parameters.values()
        }
        if inspect.Parameter.VAR_KEYWORD not in kinds:
            return typing.cast(Rows, method.asked.rows(owner, **given))
        further = given.pop(kinds[inspect.Parameter.VAR_POSITIONAL], ())
        options = given.pop(kinds[inspect.Parameter.VAR_KEYWORD], {})
        leading = [given.pop(parameter.name, parameter.default) for parameter in _positional(method)]
        of = leading[-1].replace(".", "_")
        named = dict(zip((parameter.name for parameter in _positional(self._methods.get(of))), further, strict=False))
        options = {option: value for option, value in options.items() if value is not None}
        self._known(of, named | options)
        return typing.cast(Rows, method.asked.rows(owner, *leading, *further, **given, **options))

    def _known(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Return the method of a tool. Raise `CharzError` for a method or an argument that this server does not offer, and for a value of
        another type than the argument's."""
        method = self._methods.get(name)
        if method is None:
            raise CharzError("no such tool", name, f"there are {', '.join(self._methods)}")
        known = self._schema(method)["properties"]
        if lost := [argument for argument in arguments if argument not in known]:
            raise CharzError("no such argument", f"{name}: {', '.join(lost)}", f"there are {', '.join(known)}")
        for argument, value in arguments.items():
            _check_type(f"{name}: {argument}", value, known[argument])
        return method

    def _schema(self, method: Any) -> dict[str, Any]:
        """Return the JSON schema of a method's arguments."""
        hints = typing.get_type_hints(method.asked.rows, include_extras=True)
        properties, required = {}, []
        for parameter in inspect.signature(method.asked.rows).parameters.values():
            if parameter.name == "self":
                continue
            if parameter.kind in _FURTHER:
                properties[parameter.name] = _FURTHER[parameter.kind]
                continue
            if parameter.name == "section":
                properties["section"] = {"enum": [*method.asked.sections, *method.asked.more, *method.asked.alone]}
                continue
            given, text = typing.get_args(hints[parameter.name])[:2]
            if not self._is_writing and (_is_file(given) or parameter.name == "force"):
                continue
            properties[parameter.name.rstrip("_")] = _property(given, text)
            if parameter.default is inspect.Parameter.empty:
                required.append(parameter.name.rstrip("_"))
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _offered(owner: type, is_writing: bool) -> Iterator[tuple[str, Any]]:
    """Yield name and method of each tool. Without `is_writing`, yield only methods that change no database, require no file and run no model."""
    for name, found in methods_of(owner).items():
        members = found if isinstance(found, dict) else {"": found}
        for member, method in members.items():
            tool = "_".join(filter(None, (name, member))).replace("-", "_")
            is_read = not method.asked.is_writing and name not in _RUNS_HERE and not _wants_file(method)
            if name not in _SERVES and (is_writing or is_read):
                yield tool, method


def _wants_file(method: Any) -> bool:
    """Return True if a method requires a file name, as an argument or as the output of a picture."""
    hints = typing.get_type_hints(method.asked.rows, include_extras=True)
    required = [
        hints[parameter.name]
        for parameter in inspect.signature(method.asked.rows).parameters.values()
        if parameter.default is inspect.Parameter.empty and typing.get_origin(hints.get(parameter.name)) is Annotated
    ]
    return "out" in method.asked.files or any(_is_file(typing.get_args(hint)[0]) for hint in required)


def _is_file(hint: Any) -> bool:
    return Path in typing.get_args(hint) or hint is Path


def _positional(method: Any) -> list[inspect.Parameter]:
    """Return the parameters of a method that may be given by position, without `self`; none for no method."""
    parameters = inspect.signature(method.asked.rows).parameters.values() if method else ()
    return [p for p in parameters if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD and p.name != "self"]


def _parameter_name(method: Any, argument: str) -> str:
    """Return the name of the parameter for a tool's argument, e.g. `all_` for `all`."""
    parameters = inspect.signature(method.asked.rows).parameters
    return argument if argument in parameters else f"{argument}_"


def _property(hint: Any, text: Text) -> dict[str, Any]:
    """Return the JSON schema of one argument."""
    found: dict[str, Any] = {"description": text.help, **_type(hint)}
    if text.least is not None:
        found["minimum"] = text.least
    if text.most is not None:
        found["maximum"] = text.most
    return found


def _type(hint: Any) -> dict[str, Any]:
    """Return the JSON schema of a type; empty if any value is valid."""
    if typing.get_origin(hint) is Literal:
        return {"enum": list(typing.get_args(hint))}
    members = (
        typing.get_args(hint)
        if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union
        else (hint,)
    )
    if hint is Any:  # names or objects of Python, of which JSON has only the former
        return {"type": ["string", "array"], "items": {"type": "string"}}
    kinds: list[str] = []
    inner: dict[str, Any] = {}
    for member in members:
        if typing.get_origin(member) is Literal:
            return {"enum": list(typing.get_args(member))}
        origin = typing.get_origin(member)
        if member in _NUMBERS:
            kinds.append(_NUMBERS[member])
        elif member is Path:
            kinds.append("string")
        elif isinstance(origin, type) and issubclass(origin, Mapping):
            kinds.append("object")
            inner["additionalProperties"] = _type(typing.get_args(member)[1])
        elif isinstance(origin, type) and issubclass(origin, Sequence):
            kinds.append("array")
            inner["items"] = _type(typing.get_args(member)[0])
    kinds = list(dict.fromkeys(kinds))
    return {"type": kinds[0] if len(kinds) == 1 else kinds, **{key: schema for key, schema in inner.items() if schema}} if kinds else {}


_KINDS: dict[str, type | tuple[type, ...]] = {
    "integer": int, "number": (int, float), "boolean": bool, "string": str, "array": list, "object": dict,
}  # fmt: skip
"""Python types of JSON's types."""


def _check_type(where: str, value: Any, schema: Mapping[str, Any]) -> None:
    """Raise `CharzError` for a value that a JSON schema of `_property` does not allow; its members are checked too."""
    kinds = [schema["type"]] if isinstance(schema.get("type"), str) else schema.get("type", [])
    # Python counts True among the integers, JSON does not.
    is_valid = not kinds or any(isinstance(value, _KINDS[kind]) and isinstance(value, bool) == (kind == "boolean") for kind in kinds)
    shown = json.dumps(value, ensure_ascii=False, default=str)[:100]
    if not is_valid:
        raise CharzError("a value of another type", f"{where} = {shown}", f"it must be of type {' or '.join(kinds)}")
    if "enum" in schema and value not in schema["enum"]:
        raise CharzError("unknown value", f"{where} = {shown}", f"there are {', '.join(map(str, schema['enum']))}")
    if isinstance(value, int | float) and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        limits = [f"{word} {schema[key]:,}" for word, key in (("at least", "minimum"), ("at most", "maximum")) if key in schema]
        raise CharzError("a number out of range", f"{where} = {shown}", f"it must be {' and '.join(limits)}")
    members = enumerate(value) if isinstance(value, list) else value.items() if isinstance(value, dict) else ()
    of = schema.get("items") if isinstance(value, list) else schema.get("additionalProperties")
    for key, member in members:
        if of:
            _check_type(f"{where}[{key}]", member, of)


def _within(rows: Iterable[dict[str, Any]]) -> tuple[list[dict[str, Any]], bool]:
    """Return the first rows that fit in one answer, and True if a value in these rows was shortened."""
    told: list[dict[str, Any]] = []
    letters, is_cut = 0, False
    for row in rows:
        short = {name: _short(value) for name, value in row.items()}
        letters += len(json.dumps(short, ensure_ascii=False, default=str))
        if letters > MOST_ANSWER_LETTERS and told:
            break
        is_cut |= any(short[name] is not value for name, value in row.items())
        told.append(short)
    return told, is_cut


def _short(value: Any) -> Any:
    """Cut the text of a long value: a string, list or object."""
    if isinstance(value, bytes | bytearray | str):
        return value if len(value) <= MOST_LETTERS else f"{value[:MOST_LETTERS]!s}... ({len(value):,} letters)"
    if isinstance(value, dict | list | tuple):
        text = json.dumps(value, ensure_ascii=False, default=str)
        return value if len(text) <= MOST_LETTERS else f"{text[:MOST_LETTERS]}... ({len(text):,} letters)"
    return value


def _plain(value: Any) -> Any:
    """Convert a value for JSON, which has no infinities and no NaN."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
