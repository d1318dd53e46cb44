"""Parser of the tables that declare messages: a compact text, one line per message or enumeration.

    TensorShapeProto: 2 dim *Dim, 3 unknown_rank bool
    TensorShapeProto.Dim: 1 size int64, 2 name string
    enum SaverDef.CheckpointFormatVersion: LEGACY 0, V1 1, V2 2

A field consists of its number, name and type. `*type` is a repeated field, `key:type` is a map, and
`|name` puts the field into the oneof of that name. A type is a protobuf scalar, or the name of a
message or enumeration. The name is looked up in the message itself, then in the enclosing messages.
An indented line continues the preceding line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple


class FieldDeclaration(NamedTuple):
    """A declared field. `key_type` is empty unless the field is a map. `oneof` is empty unless the
    field is in a oneof.
    """

    number: int
    name: str
    type: str
    repeated: bool
    key_type: str
    oneof: str


class MessageDeclaration(NamedTuple):
    """A declared message. `path` includes the enclosing messages, as in `AttrValue.ListValue`."""

    path: str
    fields: list[FieldDeclaration]


class EnumDeclaration(NamedTuple):
    """A declared enumeration.

    `path` includes the enclosing messages. `values` maps names to numbers.
    """

    path: str
    values: dict[str, int]


_FIELD = re.compile(r"(\d+) (\w+) (\*)?(?:(\w+):)?([\w.]+)(?: \|(\w+))?")


def read_declarations(text: str) -> Iterator[MessageDeclaration | EnumDeclaration]:
    """Yield the declarations in the table `text`, in their order. Raises ValueError if the text is
    malformed.
    """
    for line in filter(None, re.sub(r"\n +", " ", text).splitlines()):
        head, _, body = line.partition(":")
        items = [item.strip() for item in body.split(",") if item.strip()]
        kind, _, path = head.rpartition(" ")
        if kind == "enum":
            pairs = (item.split() for item in items)
            yield EnumDeclaration(path, {name: int(number) for name, number in pairs})
        else:
            yield MessageDeclaration(path, [_read_field(path, item) for item in items])


def _read_field(path: str, text: str) -> FieldDeclaration:
    match = _FIELD.fullmatch(text)
    if match is None:
        raise ValueError(f"{path}: {text!r} is not a field: number, name, type")
    number, name, repeated, key_type, kind, oneof = match.groups()
    return FieldDeclaration(int(number), name, kind, bool(repeated), key_type or "", oneof or "")
