"""Checks, printing and strings, by gpugraph and by TensorFlow: values, errors, names in the graph.

    python ci/against_tensorflow/checks_and_strings.py --tensorflow PYTHON [--draws 40]

Each program is made of random inputs and attrs, equal on both sides, and run `draws` times.
Compared are its results to the byte, or the class of its error and whether the graph or the run
raises it; of checks also the operations that they add, by name, type and inputs. It prints a table
and the differences, and fails where there are any.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sides import add_options, library, python_of_tensorflow, run_side

Draw = np.random.Generator
Program = Callable[[Any, Draw], Any]

LETTERS = ["", "a", "b", " ", "\t", "7", ".", "-", "ñ", "日", "aa", "1e3", "0x1", "+", "nan"]
PATTERNS = ["a", "[^a]", "a+|b", "(a)(b)?", r"\d+", r"[[:alpha:]]", ".", "x*", "$", r"\s", "("]
REWRITES = ["", "<>", r"\0\0", r"[\1]", r"\\", r"\2"]


def words(draw: Draw, *shape: int) -> Any:
    """Return an array of strings of up to six pieces."""
    result = np.empty(shape, object)
    for index in np.ndindex(*shape):
        result[index] = "".join(draw.choice(LETTERS, draw.integers(0, 6))).encode()
    return result


def data(draw: Draw, *shape: int) -> Any:
    result = np.empty(shape, object)
    for index in np.ndindex(*shape):
        result[index] = draw.integers(1, 256, draw.integers(0, 200), np.uint8).tobytes()
    return result


def shape_of(draw: Draw, most: int = 3) -> tuple[int, ...]:
    return tuple(draw.integers(0, 4, draw.integers(0, most + 1)).tolist())


def fed(tf: Any, value: Any, dtype: Any = None) -> Any:
    """Return a tensor whose value, shape, or nothing is static."""
    return tf.placeholder_with_default(np.array(value, dtype), None)


def numbers(draw: Draw, *shape: int) -> Any:
    kind = draw.choice(["f2", "f4", "f8", "i1", "i4", "i8", "u1", "?", "c8"])
    return np.asarray(draw.normal(0, 100, shape)).astype(kind)


def choose(draw: Draw, *values: Any) -> Any:
    return values[draw.integers(len(values))]


def as_string(tf: Any, draw: Draw) -> Any:
    how = {"precision": choose(draw, -1, -1, 0, 3), "width": choose(draw, -1, 4, 12)}
    how |= {"fill": choose(draw, "", "0", "-", "+", " ", "x")}
    how |= {"scientific": choose(draw, False, True), "shortest": choose(draw, False, False, True)}
    return tf.as_string(fed(tf, numbers(draw, *shape_of(draw))), **how)


def to_number(tf: Any, draw: Draw) -> Any:
    dtype = choose(draw, tf.float32, tf.float64, tf.int32, tf.int64)
    text = "".join(draw.choice(["1", "2", "-", ".", "e", " ", "0x", "nan", "inf"], 3))
    return tf.string_to_number(fed(tf, text), dtype)


def substr(tf: Any, draw: Draw) -> Any:
    shape = shape_of(draw, 2)
    kind = choose(draw, "i4", "i8")
    ends = (draw.integers(-4, 5, shape).astype(kind) for _ in range(2))
    unit = choose(draw, "BYTE", "UTF8_CHAR")
    return tf.substr(fed(tf, words(draw, *shape)), *(fed(tf, end) for end in ends), unit=unit)


def replace(tf: Any, draw: Draw) -> Any:
    value = choose(draw, *PATTERNS), choose(draw, *REWRITES)
    if draw.random() < 0.5:
        value = tuple(fed(tf, item) for item in value)
    source = fed(tf, words(draw, *shape_of(draw)))
    return tf.regex_replace(source, *value, replace_global=bool(draw.integers(2)))


def match(tf: Any, draw: Draw) -> Any:
    return tf.strings.regex_full_match(fed(tf, words(draw, 3)), choose(draw, *PATTERNS))


def hashes(tf: Any, draw: Draw) -> Any:
    source, count = fed(tf, data(draw, 4)), int(draw.integers(1, 2**62))
    key = draw.integers(0, 2**62, 2).tolist()
    return [
        tf.string_to_hash_bucket(source, count),
        tf.string_to_hash_bucket_fast(source, count),
        tf.string_to_hash_bucket_strong(source, count, key),
    ]


def each(tf: Any, draw: Draw) -> Any:
    source = fed(tf, words(draw, *shape_of(draw)))
    return [
        tf.strings.length(source),
        tf.strings.length(source, unit="UTF8_CHAR"),
        tf.string_strip(source),
        tf.strings.upper(source),
        tf.strings.lower(source, encoding="utf-8"),
        tf.encode_base64(source, pad=bool(draw.integers(2))),
        tf.decode_base64(tf.encode_base64(source)),
    ]


def decode(tf: Any, draw: Draw) -> Any:
    return tf.decode_base64(fed(tf, "".join(draw.choice(["A", "_", "=", "z", "+"], 4))))


def join(tf: Any, draw: Draw) -> Any:
    shape = shape_of(draw)
    shapes = [choose(draw, shape, shape, shape, (), (2,)) for _ in range(draw.integers(1, 4))]
    return tf.string_join(
        [fed(tf, words(draw, *shape)) for shape in shapes], choose(draw, "", ", ")
    )


def reduce_join(tf: Any, draw: Draw) -> Any:
    shape = shape_of(draw)
    rank = len(shape)
    axes = draw.permutation(rank)[: draw.integers(0, rank + 1)].astype(np.int32)
    source = words(draw, *shape)
    axis = choose(draw, None, axes, (axes - rank).astype(np.int32))
    keeps = bool(draw.integers(2))
    value = choose(draw, fed(tf, source), tf.constant(source, tf.string))
    return tf.reduce_join(value, axis, keepdims=keeps, separator=choose(draw, "", "/"))


def segments(tf: Any, draw: Draw) -> Any:
    shape = (3, *shape_of(draw, 2))
    ids = draw.integers(0, 5, shape[: draw.integers(1, len(shape) + 1)]).astype(np.int32)
    return tf.strings.unsorted_segment_join(fed(tf, words(draw, *shape)), ids, 4, ",")


def split(tf: Any, draw: Draw) -> Any:
    source = tf.constant(words(draw, 4), tf.string)
    raw = tf.raw_ops
    delimiter = choose(draw, "", " ", "a", "ab")
    cut = raw.StringSplit(input=source, delimiter=delimiter, skip_empty=bool(draw.integers(2)))
    again = raw.StringSplitV2(input=source, sep=choose(draw, "", "a", "aa"), maxsplit=-1)
    return [*cut, *again]


def write(tf: Any, draw: Draw) -> Any:
    value = choose(draw, words(draw, 3), numbers(draw, *shape_of(draw)))
    value = np.abs(value) if value.dtype.kind == "c" else value
    return tf.strings.format("<{}>", fed(tf, value), summarize=choose(draw, -1, 1, 2, 3))


def raw(tf: Any, draw: Draw) -> Any:
    size = int(draw.integers(0, 17))
    source = np.array([draw.bytes(size) for _ in range(3)], object)
    dtype = choose(draw, tf.uint8, tf.int16, tf.int32, tf.int64)
    return tf.decode_raw(fed(tf, source), dtype, little_endian=bool(draw.integers(2)))


def records(tf: Any, draw: Draw) -> Any:
    """Records of two columns, mostly: with quotes that close or don't, and empty fields."""
    fields = ["1", " 23", "-4 ", "5.5", '"6"', "", "NA"]
    texts = ['""', '"a,""b"', '"x\n"', "NA", "", "c d", 'e"', '"f"g', "h\n"]
    output = [
        ",".join([*draw.choice(fields, 1), *draw.choice(texts, draw.choice([1, 2], p=[0.8, 0.2]))])
        for _ in range(draw.integers(1, 3))
    ]
    defaults = [choose(draw, [0], ["d"], [1.5], np.zeros(0, "f8")), choose(draw, ["t"], "u")]
    return tf.decode_csv(
        fed(tf, np.array(output, object)),
        defaults,
        use_quote_delim=bool(draw.integers(2)),
        na_value=choose(draw, "", "NA"),
        select_cols=choose(draw, None, None, [0, 2]),
    )


def finite(tf: Any, draw: Draw) -> Any:
    value = draw.choice([1.0, 2.0, np.nan, np.inf], shape_of(draw), p=[0.4, 0.4, 0.1, 0.1])
    return tf.check_numerics(fed(tf, value, choose(draw, "f2", "f4", "f8")), "message")


def ordered(tf: Any, draw: Draw) -> Any:
    value = np.sort(draw.integers(0, 9, draw.integers(0, 5))).astype("f4")
    return [tf.is_non_decreasing(fed(tf, value)), tf.is_strictly_increasing(fed(tf, value))]


VALUES: dict[str, Program] = {
    "AsString": as_string,
    "StringToNumber": to_number,
    "Substr": substr,
    "RegexReplace": replace,
    "RegexFullMatch": match,
    "StringToHashBucket": hashes,
    "each string": each,
    "DecodeBase64": decode,
    "StringJoin": join,
    "ReduceJoin": reduce_join,
    "UnsortedSegmentJoin": segments,
    "StringSplit": split,
    "StringFormat": write,
    "DecodeCSV": records,
    "DecodeRaw": raw,
    "CheckNumerics": finite,
    "is_non_decreasing": ordered,
}


# -- checks, with the graph that they make


def operand(tf: Any, draw: Draw) -> Any:
    value = draw.integers(-1, 2, choose(draw, (1,), (2,), (3,))).astype("f4")
    kind = draw.integers(3)
    if kind == 0:
        return value
    return fed(tf, value) if kind == 1 else tf.placeholder_with_default(value, value.shape)


def messages(draw: Draw) -> dict[str, Any]:
    result: dict[str, Any] = choose(draw, {}, {"message": "why"}, {"name": "n", "summarize": 2})
    return result


def compared(name: str) -> Program:
    def make(tf: Any, draw: Draw) -> Any:
        x, y = operand(tf, draw), operand(tf, draw)
        return getattr(tf, name)(x, y, **messages(draw))

    return make


def signed(name: str) -> Program:
    return lambda tf, draw: getattr(tf, name)(operand(tf, draw), **messages(draw))


def ranked(name: str) -> Program:
    def make(tf: Any, draw: Draw) -> Any:
        rank = int(draw.integers(0, 3))
        wanted = [rank, rank + 1] if name == "assert_rank_in" else rank
        return getattr(tf, name)(operand(tf, draw), wanted, **messages(draw))

    return make


def shaped(tf: Any, draw: Draw) -> Any:
    pairs = [
        (tf.convert_to_tensor(operand(tf, draw)), choose(draw, "a", "b", (2,), (..., "a"), "ab"))
        for _ in range(draw.integers(1, 4))
    ]
    return tf.debugging.assert_shapes(pairs, **messages(draw))


CHECKS: dict[str, Program] = {
    **{
        name: compared(name)
        for name in (
            "assert_equal",
            "assert_none_equal",
            "assert_less",
            "assert_less_equal",
            "assert_greater",
            "assert_greater_equal",
            "assert_near",
        )
    },
    **{
        name: signed(name) for name in ("assert_positive", "assert_negative", "assert_non_negative")
    },
    **{name: ranked(name) for name in ("assert_rank", "assert_rank_at_least", "assert_rank_in")},
    "assert_shapes": shaped,
}
PROGRAMS = VALUES | CHECKS


# -- both sides


def outcome(tf: Any, name: str, seed: int) -> dict[str, Any]:
    """Return a program's result, or its error and where it is raised; of checks, the graph too."""
    draw = np.random.default_rng([seed, *name.encode()])
    result: dict[str, Any] = {}
    with tf.Graph().as_default() as graph:
        try:
            output = PROGRAMS[name](tf, draw)
        except Exception as error:
            return {"refused": type(error).__name__}
        if name in CHECKS:
            result["graph"] = sorted(
                [op.name, op.type, *(tensor.name for tensor in op.inputs)]
                for op in graph.get_operations()
            )
        with tf.Session() as session:
            try:
                value = session.run(output)
            except Exception as error:
                return {**result, "failed": type(error).__name__}
    if name in VALUES:
        result["value"] = [plain(item) for item in (value if isinstance(output, list) else [value])]
    return result


def plain(value: Any) -> Any:
    """Return an array as JSON: shape, kind, and elements as text."""
    array = np.array(value, object) if isinstance(value, bytes) else np.asarray(value)
    elements = [repr(item) for item in array.reshape(-1).tolist()]
    return [list(array.shape), array.dtype.kind, elements]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser)
    parser.add_argument("--draws", type=int, default=40)
    options = parser.parse_args()
    if options.side:
        side, folder = options.side
        tf = library(side)
        result = {
            name: [outcome(tf, name, seed) for seed in range(options.draws)] for name in PROGRAMS
        }
        Path(folder, f"{side}.json").write_text(json.dumps(result), "utf-8")
        return 0
    python = python_of_tensorflow(options.tensorflow)
    with tempfile.TemporaryDirectory() as folder:
        results = []
        for side, program in (("gpugraph", sys.executable), ("tensorflow", python)):
            run_side(program, __file__, side, Path(folder), "--draws", str(options.draws))
            results.append(json.loads(Path(folder, f"{side}.json").read_text("utf-8")))
    return report(*results)


def report(ours: dict[str, Any], theirs: dict[str, Any]) -> int:
    """Prints the table, and of each program the first draw that differs; 1 where one does."""
    worst = 0
    print(f"{'program':22} {'draws':>6} {'errors':>7} {'differ':>7}")
    for name in PROGRAMS:
        pairs = list(zip(ours[name], theirs[name], strict=True))
        errors = sum("failed" in two or "refused" in two for _, two in pairs)
        differ = [seed for seed, (one, two) in enumerate(pairs) if one != two]
        worst += len(differ)
        print(f"{name:22} {len(pairs):6} {errors:7} {len(differ):7}")
        if differ:
            one, two = pairs[differ[0]]
            print(f"    draw {differ[0]}: ours {shown(one, two)}")
            print(f"    draw {differ[0]}: theirs {shown(two, one)}")
    return int(worst > 0)


def shown(one: dict[str, Any], two: dict[str, Any]) -> str:
    """Return the parts of the first that the second lacks."""
    result = {}
    for key, value in one.items():
        if value != two.get(key):
            is_list = isinstance(value, list)
            result[key] = [v for v in value if v not in (two.get(key) or ())] if is_list else value
    return str(result)[:600]


if __name__ == "__main__":
    raise SystemExit(main())
