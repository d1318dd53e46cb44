"""Cases of ops for both sides of `every_op.py`: inputs and attrs, and each side's results.

A case is plain data, so that it can be pickled: arrays, attrs with dtypes by name, which inputs are
variables, which are differentiated by. Cases come from the samples of tests/ops: each as it is, and
again with its numbers moved by up to a tenth (exact zeros, signs and domains stay) and, of integer
data, in another order; or again with some of its numbers replaced by special ones.
"""

from __future__ import annotations

import warnings
import zlib
from typing import Any

import numpy as np
from fairness import compared, follow, readable, slots, together

__all__ = ["DEPENDENT", "Answer", "Case", "answer", "as_attr", "blank", "draw", "flat_outputs"]
__all__ += ["is_inexact", "said"]

Case = dict[str, Any]
Answer = dict[str, Any]


DEPENDENT = {"BroadcastArgs", "SoftmaxCrossEntropyWithLogits"}
"""Ops whose inputs stay as they are: shapes that fit together, rows of shares."""


def is_inexact(array: Any) -> bool:
    """Return whether numbers are floating: NumPy has no kind for bfloat16."""
    return array.dtype.kind in "fc" or array.dtype.name == "bfloat16"


def is_real(array: Any) -> bool:
    """Return whether numbers are floating and not complex."""
    return is_inexact(array) and array.dtype.kind != "c"


# -- drawing (needs gpugraph and its tests)


def draw(
    op_type: str, declarations: Any, table: Any, draws: int, special: bool = False
) -> list[Case]:
    """Return all cases of an op type: each sample as it is, and `draws` times moved.

    special: each sample `draws` times with special numbers instead, without gradients.
    """
    op_def = declarations[op_type].op_def
    cases = []
    for number, sample in enumerate(table[op_type].samples):
        for turn in range(int(special), draws + 1):
            random = np.random.default_rng(zlib.crc32(f"{op_type} {number} {turn}".encode()))
            inputs, slot, smooth = [], 0, []
            for index, (arg, source) in enumerate(zip(op_def.inputs, sample.inputs, strict=True)):
                arrays = source if isinstance(source, list) else [source]
                fixed = index in op_def.host_inputs
                data = arg.type_attr == "T" and not fixed
                move = turn and op_type not in DEPENDENT
                if special:
                    moved = [_specialized(array, random, turn) for array in arrays]
                else:
                    moved = [_moved(array, random, data) if move else array for array in arrays]
                inputs.append(moved if isinstance(source, list) else moved[0])
                for array in arrays:
                    if is_inexact(array) and not arg.is_ref and not fixed:
                        smooth.append(slot)
                    slot += 1
            follow(table, op_type, inputs, sample.attrs)
            if special and not any(map(is_real, flat_outputs(inputs))):
                continue
            cases.append(
                {
                    "op": op_type,
                    "label": sample.label + " with special numbers" * special,
                    "special": special,
                    "inputs": inputs,
                    "attrs": {key: _plain(value) for key, value in sample.attrs.items()},
                    "names": [arg.name for arg in op_def.inputs],
                    "refs": [arg.is_ref for arg in op_def.inputs],
                    "constant": [index in op_def.host_inputs for index in range(len(inputs))],
                    "writes": sorted(declarations[op_type].memory.writes),
                    "by": slots(op_type, smooth) if sample.smooth and not special else [],
                }
            )
    return cases


def _moved(array: np.ndarray, random: np.random.Generator, data: bool) -> np.ndarray:
    if is_inexact(array):
        return np.asarray(array * random.uniform(0.9, 1.0, array.shape)).astype(array.dtype)
    if not data:
        return array
    return random.permutation(array.reshape(-1)).reshape(array.shape).astype(array.dtype)


SPECIAL = [
    ((np.nan, np.inf, -np.inf, -0.0), 0.25),
    ((np.nan,), 0.6),
    ((np.inf, -np.inf), 0.4),
    ((0.0, -0.0), 0.6),
]
"""The special numbers of each draw, and the share of elements that they replace."""


def _specialized(array: np.ndarray, random: np.random.Generator, turn: int) -> np.ndarray:
    """Return a copy of a real array with special numbers in it, in at least one place."""
    if not is_real(array) or not array.size:
        return array
    numbers, share = SPECIAL[(turn - 1) % len(SPECIAL)]
    where = random.random(array.shape) < share
    where.reshape(-1)[random.integers(array.size)] = True
    chosen = random.choice(numbers, array.shape)
    return np.where(where, chosen, array.astype(np.float64)).astype(array.dtype)


def _plain(value: Any) -> Any:
    """Return an attr as data that can be read without gpugraph."""
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "as_datatype_enum"):
        return ("dtype", value.name)
    if hasattr(value, "as_list"):
        return ("shape", None if value.ndims is None else value.as_list())
    return value


# -- answering (by gpugraph or by TensorFlow)


def blank(error: str) -> Answer:
    """Return an empty answer, or one with an error only."""
    return {"values": [], "shapes": [], "first": None, "second": None, "error": error}


def answer(tf: Any, make: Any, case: Case, session: Any) -> Answer:
    """Return one side's answer to a case; `make(tf, case, inputs, attrs)` makes the op's
    outputs.
    """
    result = blank("")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _answer(tf, make, case, session, result)
    except Exception as error:
        result["error"] = said(error)
    return result


_NO_REASON = ("Graph execution error", "Detected at node", "Node:", "File ")
"""Starts of lines in TensorFlow's error messages that precede the reason."""


def said(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines()]
    reasons = [line for line in lines if line and not line.startswith(_NO_REASON)]
    return f"{type(error).__name__}: {reasons[0][:300] if reasons else ''}"


def _answer(tf: Any, make: Any, case: Case, session: Any, result: Answer) -> None:
    attrs = {key: as_attr(tf, value) for key, value in case["attrs"].items()}
    feeds: dict[Any, Any] = {}
    flat, arguments, starts = [], [], []
    for source, is_ref, constant in zip(case["inputs"], case["refs"], case["constant"]):
        sources = []
        for array in source if isinstance(source, list) else [source]:
            if is_ref:
                kind = tf.as_dtype(array.dtype)
                sources.append(tf.raw_ops.VariableV2(shape=array.shape, dtype=kind))
                starts.append(tf.assign(sources[-1], tf.constant(array, kind)))
            elif constant or not is_inexact(array):
                sources.append(tf.constant(array, tf.as_dtype(array.dtype)))
            else:
                sources.append(tf.placeholder(tf.as_dtype(array.dtype), array.shape))
                feeds[sources[-1]] = array
        flat += sources
        arguments.append(sources if isinstance(source, list) else sources[0])
    outputs = flat_outputs(make(tf, case, together(tf, case, arguments), attrs))
    result["shapes"] = [None if y.shape.rank is None else y.shape.as_list() for y in outputs]
    if case["writes"]:
        session.run(starts)
        session.run(outputs, feeds)
        result["values"] = session.run([flat[index] for index in case["writes"]])
        return
    outputs, slopes = compared(tf, case["op"], outputs)
    result["values"] = readable(tf, case["op"], session.run(outputs, feeds))
    ys = [
        index
        for index, y in enumerate(outputs[:slopes])
        if y.dtype.is_floating or y.dtype.is_complex
    ]
    if not ys or not case["by"]:
        return
    try:
        _gradients(
            tf, case, session, result, [flat[index] for index in case["by"]], feeds, outputs, ys
        )
    except Exception as error:
        what = "second" if result["first"] is not None else "first"
        result[what] = f"refused: {said(error)}"


def flat_outputs(output: list[Any]) -> list[Any]:
    """Return outputs with lists of tensors spread out."""
    return [item for one in output for item in (one if isinstance(one, list) else [one])]


def as_attr(tf: Any, value: Any) -> Any:
    if isinstance(value, list):
        return [as_attr(tf, item) for item in value]
    if not isinstance(value, tuple):
        return value
    kind, content = value
    return getattr(tf, content) if kind == "dtype" else tf.TensorShape(content)


def _gradients(
    tf: Any,
    case: Case,
    session: Any,
    result: Answer,
    xs: Any,
    feeds: Any,
    outputs: Any,
    ys: list[int],
) -> None:
    values = [np.asarray(result["values"][index]) for index in ys]
    dys = [tf.placeholder(outputs[index].dtype, value.shape) for index, value in zip(ys, values)]
    feeds |= {
        dy: _weights(value, case, index) for index, (dy, value) in enumerate(zip(dys, values))
    }
    try:
        first = tf.gradients([outputs[index] for index in ys], xs, dys)
    except LookupError as error:
        result["first"] = _undeclared(error)
        return
    first = [None if dx is None else tf.convert_to_tensor(dx) for dx in first]
    result["first"] = _run(session, first, feeds)
    there = [index for index, dx in enumerate(first) if dx is not None]
    if not there:
        return
    vs = [tf.constant(_weights(result["first"][index], case, 10 + index)) for index in there]
    try:
        second = tf.gradients([first[index] for index in there], [*xs, *dys], vs)
    except LookupError as error:
        result["second"] = _undeclared(error)
        return
    second = [None if item is None else tf.convert_to_tensor(item) for item in second]
    result["second"] = _run(session, second, feeds)


def _undeclared(error: LookupError) -> str:
    return f"{type(error).__name__}: {str(error).splitlines()[0][:200]}"


def _run(session: Any, tensors: list[Any], feeds: Any) -> list[Any]:
    """Run the tensors and return their values; None stays None."""
    got = iter(session.run([tensor for tensor in tensors if tensor is not None], feeds))
    return [None if tensor is None else next(got) for tensor in tensors]


def _weights(like: Any, case: Case, number: int) -> np.ndarray:
    like = np.asarray(like)
    random = np.random.default_rng(zlib.crc32(f"{case['op']} {case['label']} {number}".encode()))
    output = random.uniform(0.5, 1.5, like.shape)
    if like.dtype.kind == "c":
        output = output + 1j * random.uniform(0.5, 1.5, like.shape)
    return np.asarray(output).astype(like.dtype)
