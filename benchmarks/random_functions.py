"""Functions of one component of an element, by the kind of the component, for random pipelines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

SMALL = 12
"""The size of the vectors that sources return."""


class Kind(NamedTuple):
    """The dtype of a component, and its shape; None for a size that varies."""

    dtype: str
    shape: tuple[int | None, ...] = ()


INT = Kind("int")

Choice = tuple[str, Callable[[Any, Any], Any], Kind]


def _of_ints(kind: Kind) -> list[Choice]:
    floats = Kind("float", kind.shape)
    choices: list[Choice] = [
        ("2x+1", lambda tf, x: x * 2 + 1, kind),
        ("x%7", lambda tf, x: x % 7, kind),
        ("float", lambda tf, x: tf.cast(x, tf.float32) / 3, floats),
        ("where", lambda tf, x: tf.where(tf.equal(x % 2, 0), x, -x), kind),
        ("text", lambda tf, x: tf.as_string(x), Kind("text", kind.shape)),
        ("one hot", lambda tf, x: tf.one_hot(x % 5, 5), Kind("float", (*kind.shape, 5))),
    ]
    if not kind.shape:
        choices.append(("fill", lambda tf, x: tf.fill([x % 4 + 1], x), Kind("int", (None,))))
        choices.append(("stack", lambda tf, x: tf.stack([x, x + 1]), Kind("int", (2,))))
    return choices


def _of_floats(kind: Kind) -> list[Choice]:
    choices: list[Choice] = [
        ("scale", lambda tf, x: x * 0.5 - 1, kind),
        ("tanh", lambda tf, x: tf.tanh(x), kind),
        ("clip", lambda tf, x: tf.clip_by_value(x, -1.0, 1.0), kind),
        ("noise", lambda tf, x: x + tf.random.uniform(tf.shape(x), seed=3), kind),
    ]
    if kind.shape:
        choices += [
            ("mean", lambda tf, x: tf.reduce_mean(x, -1), Kind("float", kind.shape[:-1])),
            ("centre", lambda tf, x: x - tf.reduce_mean(x, -1, keepdims=True), kind),
            ("part", lambda tf, x: x[..., :3], Kind("float", (*kind.shape[:-1], None))),
        ]
    if kind.shape == (SMALL,):
        choices += [
            ("square", lambda tf, x: tf.reshape(x, [3, 4]), Kind("float", (3, 4))),
            ("flip", lambda tf, x: tf.reverse(x, [0]), kind),
        ]
    return choices


def _of_texts(kind: Kind) -> list[Choice]:
    numbers = Kind("int", kind.shape)
    choices: list[Choice] = [
        ("length", lambda tf, x: tf.cast(tf.strings.length(x), tf.int64), numbers),
        ("bucket", lambda tf, x: tf.strings.to_hash_bucket_fast(x, 100), numbers),
        ("join", lambda tf, x: tf.strings.join([x, "!"]), kind),
        ("lower", lambda tf, x: tf.strings.substr(x, 0, 2), kind),
    ]
    if not kind.shape:
        choices.append(("split", lambda tf, x: tf.string_split([x]).values, Kind("text", (None,))))
        choices.append(("look up", lambda tf, x: _looked_up(tf, x), INT))
    return choices


def _looked_up(tf: Any, x: Any) -> Any:
    words = tf.constant([f"text {n}" for n in range(97)])
    return tf.argmax(tf.cast(tf.equal(words, x), tf.int64))


def _of_records(kind: Kind) -> list[Choice]:
    del kind
    return [("length", lambda tf, x: tf.cast(tf.strings.length(x), tf.int64), INT)]


FUNCTIONS: dict[str, Callable[[Kind], list[Choice]]] = {
    "int": _of_ints, "float": _of_floats, "text": _of_texts, "record": _of_records,
}  # fmt: skip
