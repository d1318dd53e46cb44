"""The file `checkpoint`: which checkpoints a folder has, as a text of CheckpointState.

protobuf is not needed: without it the messages are plain records with the same fields.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields
from typing import Any

from gpugraph.base.errors import DataLossError
from gpugraph.formats import messages_pb2


@dataclass
class CheckpointStateRecord:
    """The fields of a CheckpointState where protobuf is not installed."""

    model_checkpoint_path: str = ""
    all_model_checkpoint_paths: list[str] = field(default_factory=list)
    all_model_checkpoint_timestamps: list[float] = field(default_factory=list)
    last_preserved_timestamp: float = 0.0


@dataclass
class SaverDefRecord:
    """The fields of a SaverDef where protobuf is not installed."""

    filename_tensor_name: str = ""
    save_tensor_name: str = ""
    restore_op_name: str = ""
    max_to_keep: int = 0
    sharded: bool = False
    keep_checkpoint_every_n_hours: float = 0.0
    version: int = 0


_RECORDS: dict[str, Any] = {"CheckpointState": CheckpointStateRecord, "SaverDef": SaverDefRecord}
_TEXTS = ("model_checkpoint_path", "all_model_checkpoint_paths")
_NAMES = frozenset(item.name for item in fields(CheckpointStateRecord))
_TOKEN = re.compile(
    r"""\s+|\#[^\n]*|(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')"""
    r"|(?P<word>[A-Za-z_]\w*)|(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?f?)"
    r"|(?P<sign>[:\[\],;])"
)
_ESCAPE = re.compile(rb"\\(x[0-9A-Fa-f]{1,2}|[0-7]{1,3}|.)", re.DOTALL)
_PLAIN = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"a": b"\a", b"b": b"\b", b"f": b"\f"}
_PLAIN |= {b"v": b"\v", b"\\": b"\\", b"'": b"'", b'"': b'"', b"?": b"?"}


def message_or_record(name: str, **values: Any) -> Any:
    """A message of TensorFlow's; without protobuf a record with the same fields."""
    try:
        kind = getattr(messages_pb2, name)
    except ModuleNotFoundError:
        kind = _RECORDS[name]
    return kind(**values)


def state_text(state: Any) -> str:
    """A CheckpointState as protobuf's text."""
    lines = [f"model_checkpoint_path: {_quoted(state.model_checkpoint_path)}"]
    lines += [f"all_model_checkpoint_paths: {_quoted(p)}" for p in state.all_model_checkpoint_paths]
    lines += [
        f"all_model_checkpoint_timestamps: {_number(stamp)}"
        for stamp in state.all_model_checkpoint_timestamps
    ]
    if state.last_preserved_timestamp:
        lines.append(f"last_preserved_timestamp: {_number(state.last_preserved_timestamp)}")
    return "".join(f"{line}\n" for line in lines)


def _number(value: float) -> str:
    text = repr(float(value))
    return text.removesuffix(".0")


def _quoted(text: str) -> str:
    shown = []
    for byte in text.encode("utf-8", "surrogateescape"):
        char = chr(byte)
        if char in "\\\"'":
            shown.append(f"\\{char}")
        elif 32 <= byte < 127:
            shown.append(char)
        else:
            shown.append({10: "\\n", 13: "\\r", 9: "\\t"}.get(byte, f"\\{byte:03o}"))
    return f'"{"".join(shown)}"'


def parse_state(text: str, name: str) -> Any:
    """The CheckpointState of a text. DataLossError, with an offset, for another text."""
    values: dict[str, list[Any]] = {}
    tokens = _tokens(text, name)
    position = 0
    while position < len(tokens):
        kind, word, offset = tokens[position]
        if kind != "word" or word not in _NAMES:
            raise _loss(name, offset, f"{word!r} is no field of CheckpointState")
        items, position = _value(tokens, position + 1, name, len(text), word in _TEXTS)
        values.setdefault(word, []).extend(items)
    single = ("model_checkpoint_path", "last_preserved_timestamp")
    for key in single:
        if len(values.get(key, ())) > 1:
            raise _loss(name, 0, f"'{key}' is there more than once")
    ready = {key: items[0] if key in single else items for key, items in values.items() if items}
    return message_or_record("CheckpointState", **ready)


def _tokens(text: str, name: str) -> list[tuple[str, str, int]]:
    tokens, position = [], 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise _loss(name, position, f"unexpected {text[position]!r}")
        if match.lastgroup:
            tokens.append((match.lastgroup, match.group(), position))
        position = match.end()
    return tokens


def _value(
    tokens: list[tuple[str, str, int]], position: int, name: str, end: int, is_text: bool
) -> tuple[list[Any], int]:
    """The values of a field, one or a list in brackets, and the position after them."""

    def sign(wanted: str) -> bool:
        nonlocal position
        is_it = position < len(tokens) and tokens[position][:2] == ("sign", wanted)
        position += is_it
        return is_it

    def single() -> Any:
        nonlocal position
        start = position
        wanted = "text" if is_text else "number"
        while position < len(tokens) and tokens[position][0] == wanted:
            position += 1
            if not is_text:
                break
        if position == start:
            offset = tokens[start][2] if start < len(tokens) else end
            raise _loss(name, offset, f"a {wanted} is missing")
        if not is_text:
            return float(tokens[start][1].removesuffix("f"))
        return "".join(
            _unquoted(token, name, offset) for _, token, offset in tokens[start:position]
        )

    if not sign(":"):
        raise _loss(name, tokens[position - 1][2], "a colon is missing after the name of a field")
    if not sign("["):
        items = [single()]
    elif sign("]"):
        items = []
    else:
        items = [single()]
        while sign(","):
            items.append(single())
        if not sign("]"):
            raise _loss(name, tokens[position - 1][2], "a list does not end")
    if not sign(","):
        sign(";")
    return items, position


def _unquoted(token: str, name: str, offset: int) -> str:
    def char(match: re.Match[bytes]) -> bytes:
        code = match.group(1)
        if code in _PLAIN:
            return _PLAIN[code]
        if code[:1] == b"x" and len(code) > 1:
            return bytes((int(code[1:], 16),))
        if code.isdigit() and int(code, 8) < 256:
            return bytes((int(code, 8),))
        raise _loss(name, offset, f"unknown escape \\{code.decode('utf-8', 'replace')}")

    try:
        return _ESCAPE.sub(char, token[1:-1].encode("utf-8", "surrogateescape")).decode()
    except ValueError:
        raise _loss(name, offset, "a path is not UTF-8") from None


def _loss(name: str, offset: int, what: str) -> DataLossError:
    return DataLossError(None, None, f"{name}: no text of CheckpointState: {what}, at {offset}")
