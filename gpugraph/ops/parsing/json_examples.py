"""DecodeJSONExample, which converts Examples from JSON to serialized messages.

The JSON has the format of protobuf's JSON mapping.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable
from typing import Any

import numpy as np

from gpugraph.base.errors import invalid_argument
from gpugraph.formats.example_bytes import BYTES, FLOATS, INTEGERS, example_bytes, feature_bytes
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.strings.string_ops import string_op

_LISTS = {
    **dict.fromkeys(("bytesList", "bytes_list"), BYTES),
    **dict.fromkeys(("floatList", "float_list"), FLOATS),
    **dict.fromkeys(("int64List", "int64_list"), INTEGERS),
}


def _fields(value: Any, known: tuple[str, ...]) -> dict[str, Any]:
    """Return the non-null fields of a JSON object. Raises ValueError if a field is not in
    `known`.
    """
    if not isinstance(value, dict):
        raise ValueError(f"an object is expected, not {value!r:.50}")
    for key in value:
        if key not in known:
            raise ValueError(f"no such field: '{key}'")
    return {key: item for key, item in value.items() if item is not None}


def _bytes_of(value: Any) -> bytes:
    if not isinstance(value, str):
        raise ValueError(f"base64 is expected, not {value!r:.50}")
    plain = value.replace("-", "+").replace("_", "/").rstrip("=")
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except binascii.Error as error:
        raise ValueError(f"base64 is expected: {error}") from None


def _float_of(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise ValueError(f"a number is expected, not {value!r:.50}")
    number = float(np.float64(value))
    if np.isfinite(number) and abs(number) > np.finfo(np.float32).max:
        raise ValueError(f"{value} is too large for a float")
    return number


def _integer_of(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise ValueError(f"an integer is expected, not {value!r:.50}")
    number = int(value)
    if isinstance(value, float) and number != value:
        raise ValueError(f"an integer is expected, not {value}")
    if not -(2**63) <= number < 2**63:
        raise ValueError(f"{number} is out of the range of int64")
    return number


_CONVERSIONS: dict[int, Callable[[Any], Any]] = {
    BYTES: _bytes_of, FLOATS: _float_of, INTEGERS: _integer_of,
}  # fmt: skip


def _feature(value: Any) -> bytes:
    lists = _fields(value, tuple(_LISTS))
    if len(lists) > 1:
        raise ValueError(f"a feature has one list, not {sorted(lists)}")
    for key, content in lists.items():
        kind = _LISTS[key]
        values = _fields(content, ("value",)).get("value", [])
        if not isinstance(values, list):
            raise ValueError("value has to be a list")
        return feature_bytes(kind, [_CONVERSIONS[kind](item) for item in values])
    return b""


def _example(text: bytes) -> bytes:
    try:
        fields = _fields(json.loads(text), ("features",))
        features = _fields(fields.get("features", {}), ("feature",)).get("feature", {})
        if not isinstance(features, dict):
            raise ValueError("feature has to be an object")
        return example_bytes({key: _feature(value) for key, value in features.items()})
    except (ValueError, OverflowError, RecursionError) as error:
        raise invalid_argument(f"Error while parsing JSON: {error}") from None


_decode_json_example = string_op(
    "DecodeJSONExample",
    inputs="json_examples: string",
    function_of=lambda _: _example,
    output="binary_examples: string",
    doc="Convert Examples from JSON to serialized messages.",
)


def decode_json_example(json_examples: Any, name: str | None = None) -> Tensor:
    """Convert Examples from JSON to serialized messages, which `tf.parse_example` accepts.

    The result has the shape of `json_examples`. A run raises InvalidArgumentError if a string is
    not the JSON of an Example.

    Args:
      json_examples: strings in protobuf's JSON mapping.
    """
    return _decode_json_example(json_examples, name=name)
