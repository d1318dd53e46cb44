"""Messages in protobuf's text format: one field per line, nested messages in braces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_ESCAPES = str.maketrans(
    {"\\": r"\\", '"': r"\"", "'": r"\'", "\n": r"\n", "\r": r"\r", "\t": r"\t"}
)
_DIGITS = 15, 17  # significant digits of a double: enough for most, enough for all


def text_lines(message: Any, numbers: Mapping[str, int]) -> Iterator[str]:
    """Yield the lines of the text format, for each field that is set.

    Args:
      numbers: the field numbers by name, which determine the order. Fields without a number come
        last, in the order of their declaration.
    """
    fields = sorted(message._set_fields(), key=lambda pair: numbers.get(pair[0], len(numbers) + 99))
    for name, value in fields:
        if isinstance(value, dict):
            for key, item in value.items():
                yield from _braces(name, [f"key: {_scalar(key)}", *_field("value", item, None)])
        elif isinstance(value, list):
            for item in value:
                yield from _field(name, item, None)
        else:
            yield from _field(name, value, message._fields[name].enum)


def _braces(name: str, lines: Any) -> Iterator[str]:
    yield f"{name} {{"
    yield from (f"  {line}" for line in lines)
    yield "}"


def _field(name: str, value: Any, enum: Any) -> Iterator[str]:
    if hasattr(value, "_set_fields"):
        yield from _braces(name, text_lines(value, value._numbers()))
    elif hasattr(value, "SerializeToString"):  # a protobuf message
        yield from _braces(name, str(value).splitlines())
    else:
        yield f"{name}: {enum.Name(value) if enum else _scalar(value)}"


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value.translate(_ESCAPES)}"'
    if isinstance(value, float):
        texts = [f"{value:.{digits}g}" for digits in _DIGITS]
        return texts[0] if float(texts[0]) == value else texts[1]
    return str(value)
