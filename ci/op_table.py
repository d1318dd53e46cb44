"""The op types, and what each has: kernels, native code, gradient, gradient of the gradient.

    python ci/op_table.py [--all]

First those that public TensorFlow 1 programs use (`reference_ops.txt`, most used first), then with
--all every other one. What a column says:

    GPU      expression: elementwise or a reduction, in C; source: functions of kernels/cuda;
             sized: the same, the host waits for the sizes of their outputs; formula, copies,
             product: as native code for the CPU; call: its NumPy kernel, on copies in host
             memory; host: none, for the reason below the table
    native   what native code for the CPU is made of: expression, formula (a decomposition),
             copies (of views), product (of matrices), source
    2nd      by what the gradient can be derived again: the op's inputs (x), its gradient (dy).
             It is built on samples; "?" where there are none, for the reason below

It fails where an op of the reference is not declared and no reason is known.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import gpugraph as tf  # noqa: E402
from gpugraph.kernel import (  # noqa: E402
    Call,
    CSource,
    Decomposition,
    Elementwise,
    MatmulWithEpilogue,
    MatrixProducts,
    Reduction,
    Sized,
    Source,
    ViewCopies,
)
from gpugraph.ops.arrays.indexed_slices_to_tensor import dense  # noqa: E402
from gpugraph.ops.framework.kernel_registry import HostOnly, find_kernel  # noqa: E402
from gpugraph.ops.framework.op_declaration import DECLARATIONS  # noqa: E402
from tests.ops.one_op import Built, args_by_slot  # noqa: E402
from tests.ops.samples import TABLE, UNSAMPLED  # noqa: E402
from tests.ops.sampling import Sample  # noqa: E402

MISSING: dict[str, str] = {}
"""Op types of the reference that are not declared, and why."""


class Row(NamedTuple):
    """The properties of one op type."""

    op_type: str
    cpu: str
    gpu: str
    native: str
    grad: str
    second: str
    notes: tuple[str, ...] = ()


def reference() -> list[tuple[str, int]]:
    """Return (op type, how many of the 25 programs use it), most used first."""
    lines = (ROOT / "ci" / "reference_ops.txt").read_text("utf-8").splitlines()
    pairs = [line.split() for line in lines if not line.startswith("#")]
    return [(name, int(count)) for count, name in pairs]


def row(op_type: str) -> Row:
    """Return the declaration's properties of an op type, by its first sample where it has some."""
    decl = DECLARATIONS[op_type]
    samples = TABLE[op_type].samples if op_type in TABLE else []
    attrs = samples[0].all_attrs(decl.op_def) if samples else {}
    entries = {device: find_kernel(op_type, device, attrs) for device in ("CPU", "GPU")}
    kernels = {device: entry.kernel if entry else None for device, entry in entries.items()}
    notes = [
        f"{op_type} has no {device} kernel: {kernel.reason}"
        for device, kernel in kernels.items()
        if isinstance(kernel, HostOnly)
    ]
    grad = "yes" if callable(decl.grad) else "-"
    second = "-"
    if grad == "yes":
        second = _second_order(op_type, samples)
        if second == "?":
            notes.append(f"{op_type} was not derived twice: {UNSAMPLED.get(op_type, _NO_DOUBLES)}")
    gpu, native = _kind(kernels["GPU"]), _kind(decl.native)
    if gpu == "expression" and native == "-":
        native = gpu
    if gpu == "call" and native in ("formula", "copies", "product"):
        gpu = native
    return Row(op_type, _kind(kernels["CPU"]), gpu, native, grad, second, tuple(notes))


_NO_DOUBLES = "it has no sample of inputs that can be differentiated by"
_KINDS = {
    Call: "call",
    Elementwise: "expression",
    Reduction: "expression",
    Source: "source",
    Sized: "sized",
    HostOnly: "host",
    Decomposition: "formula",
    ViewCopies: "copies",
    MatrixProducts: "product",
    MatmulWithEpilogue: "product",
    CSource: "source",
}


def _kind(kernel: Any) -> str:
    return _KINDS.get(type(kernel), "-")


def _second_order(op_type: str, samples: list[Sample]) -> str:
    """Return the operands of a gradient of the gradient: "x, dy", "dy", "-", or "?" if none was
    built.
    """
    met: set[str] = set()
    built = False
    for sample in samples:
        slots = _differentiable(op_type, sample)
        if not slots or not sample.smooth:
            continue
        with tf.Graph().as_default(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                met |= _derived_twice(Built(op_type, sample), slots)
            except LookupError:
                return "refuses"
        built = True
        if met == {"x", "dy"}:
            break
    return ", ".join(name for name in ("x", "dy") if name in met) or ("-" if built else "?")


def _differentiable(op_type: str, sample: Sample) -> list[int]:
    args = args_by_slot(DECLARATIONS[op_type], sample)
    pairs = enumerate(zip(args, sample.flat, strict=True))
    return [slot for slot, (arg, x) in pairs if x.dtype.kind in "fc" and not arg.is_ref]


def _derived_twice(op: Built, slots: list[int]) -> set[str]:
    ys = [y for y in op.outputs if y.dtype.is_floating or y.dtype.is_complex]
    xs = [op.inputs[slot] for slot in slots]
    dys = [tf.placeholder(y.dtype, y.shape) for y in ys]
    first = [dense(dx) for dx in tf.gradients(ys, xs, dys) if dx is not None]
    if not first:
        return set()
    starts = [tf.placeholder(dx.dtype, dx.shape) for dx in first]
    second = tf.gradients(first, [*xs, *dys], starts)
    by_x, by_dy = second[: len(xs)], second[len(xs) :]
    return {
        name
        for name, grads in (("x", by_x), ("dy", by_dy))
        if any(grad is not None for grad in grads)
    }


def _print(rows: list[tuple[Row, str]]) -> None:
    print(f"{'op type':38} {'uses':>4}  {'CPU':5} {'GPU':10} {'native':10} {'grad':5} 2nd")
    for op_row, uses in rows:
        line = f"{op_row.op_type:38} {uses:>4}  {op_row.cpu:5} {op_row.gpu:10} {op_row.native:10}"
        print(f"{line} {op_row.grad:5} {op_row.second}")
    notes = [note for op_row, _ in rows for note in op_row.notes]
    print("\n".join(["", *notes]) if notes else "")


def main() -> int:
    """Prints the table; 1 where something is missing without a reason."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="further op types too")
    options = parser.parse_args()
    uses = reference()
    used = [(row(name), str(count)) for name, count in uses if name in DECLARATIONS]
    names = {name for name, _ in uses}
    others = [(row(name), "") for name in sorted(DECLARATIONS) if name not in names]
    _print(used + (others if options.all else []))
    missing = [name for name, _ in uses if name not in DECLARATIONS]
    for name in missing:
        print(f"not declared: {name}: {MISSING.get(name, 'NO REASON')}")
    declared = f"{len(used)} of {len(uses)} op types of the reference are declared"
    print(f"{declared}, {len(others)} besides")
    return int(any(name not in MISSING for name in missing))


if __name__ == "__main__":
    raise SystemExit(main())
