"""Compare which forms of arguments public functions accept, and with which results.

    python ci/against_tensorflow/argument_forms.py --tensorflow PYTHON [--only TEXT] [--list KIND]

The calls are those of `form_calls.txt` and of `ci/public_calls.txt`. Each is built and run as it
is, and then with one argument in another form: a list of integers as a tuple, an array, a tensor,
or with one entry that is a tensor, a NumPy scalar or a Dimension; a number as a tensor, a variable
or a NumPy scalar; a tensor as an array, a list, a variable, or of unknown shape. Calls that
TensorFlow does not have are left out. The kinds of differences:

- refused: TensorFlow accepts the form;
- accepted: TensorFlow refuses the form;
- values: both accept it, with different dtypes, shapes or values. Calls that draw random numbers
  are compared by dtype and shape.

The script fails if more cases differ than LIMITS say.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import pickle
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sides import add_options, library, python_of_tensorflow, run_side

LIMITS = {"refused": 41, "accepted": 189, "values": 2}
"""How many cases may differ, by kind."""

_FOLDER = Path(__file__).resolve().parent
_TENSORS = ("x", "y", "i", "img", "seq", "n")
_OF_LISTS = {
    "tuple": "tuple({0})",
    "array": "np.array({0})",
    "int32 array": "np.array({0}, np.int32)",
    "tensor": "tf.constant({0})",
    "int64 tensor": "tf.constant({0}, tf.int64)",
    "shape": "tf.TensorShape({0})",
    "placeholder": "tf.placeholder_with_default({0}, None)",
}
_OF_ENTRIES = {
    "tensor": "tf.constant({0})",
    "numpy": "np.int64({0})",
    "Dimension": "tf.Dimension({0})",
    "size": "tf.shape(tf.zeros([{0}]))[0]",
}
_OF_INTEGERS = {
    "tensor": "tf.constant({0})",
    "numpy": "np.int64({0})",
    "0-d array": "np.array({0})",
    "Dimension": "tf.Dimension({0})",
    "float": "float({0})",
}
_OF_FLOATS = {
    "tensor": "tf.constant({0})",
    "numpy": "np.float32({0})",
    "float64": "np.float64({0})",
    "variable": "tf.Variable({0})",
    "placeholder": "tf.placeholder_with_default({0}, None)",
    "integer": "int({0})",
}
_OF_TENSORS = {
    "array": "a_{0}",
    "list": "a_{0}.tolist()",
    "variable": "tf.Variable(a_{0})",
    "resource variable": "tf.Variable(a_{0}, use_resource=True)",
    "unknown rank": "tf.placeholder_with_default(a_{0}, None)",
    "unknown shape": "tf.placeholder_with_default(a_{0}, [None] * a_{0}.ndim)",
    "float64": "tf.cast({0}, tf.float64)",
    "int64": "tf.cast({0}, tf.int64)",
}


def calls() -> list[str]:
    """Return the calls of both lists."""
    files = (_FOLDER / "form_calls.txt", _FOLDER.parent / "public_calls.txt")
    lines = [line for file in files for line in file.read_text().splitlines()]
    return list(dict.fromkeys(line for line in lines if line and not line.startswith("#")))


def _is_number(node: ast.AST, kind: type) -> bool:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    return isinstance(node, ast.Constant) and type(node.value) is kind


def _is_integers(node: ast.AST) -> bool:
    if not isinstance(node, (ast.List, ast.Tuple)) or not node.elts:
        return False
    return all(_is_number(each, int) or _is_integers(each) for each in node.elts)


def _sites(tree: ast.AST) -> Iterator[tuple[str, ast.expr, dict[str, str]]]:
    """Yield each expression that has other forms, with the kind and the templates."""
    inside: set[int] = set()
    for node in ast.walk(tree):
        if id(node) in inside or not isinstance(node, ast.expr):
            continue
        if _is_integers(node):
            inside |= {id(each) for each in ast.walk(node)}
            yield "list", node, _OF_LISTS
            for entry in {0, len(node.elts) - 1}:  # type: ignore[attr-defined]
                if not isinstance(node.elts[entry], (ast.List, ast.Tuple)):  # type: ignore[attr-defined]
                    yield f"entry {entry}", node.elts[entry], _OF_ENTRIES  # type: ignore[attr-defined]
        elif _is_number(node, int):
            inside |= {id(each) for each in ast.walk(node)}
            yield "integer", node, _OF_INTEGERS
        elif _is_number(node, float):
            inside |= {id(each) for each in ast.walk(node)}
            yield "float", node, _OF_FLOATS
        elif isinstance(node, ast.Name) and node.id in _TENSORS:
            yield f"tensor {node.id}", node, _OF_TENSORS


class _Replacement(ast.NodeTransformer):
    """Replaces the expression at one position of the source."""

    def __init__(self, old: ast.expr, new: ast.expr) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> Any:
        place = (getattr(node, "col_offset", None), getattr(node, "end_col_offset", None))
        if place == (self.old.col_offset, self.old.end_col_offset) and type(node) is type(self.old):
            return self.new
        return self.generic_visit(node)


def forms_of(call: str) -> dict[str, str]:
    """Return the call in all its forms, by their descriptions; the call itself has the key ""."""
    forms = {"": call}
    tree = ast.parse(call, mode="eval")
    for kind, node, templates in _sites(tree):
        text = ast.unparse(node)
        for form, template in templates.items():
            new = ast.parse(
                template.format(f"({text})" if "tf" in text else text), mode="eval"
            ).body
            changed = _Replacement(node, new).visit(copy.deepcopy(tree))
            forms[f"{kind} {text} -> {form}"] = ast.unparse(changed)
    return forms


def values(tf: Any) -> dict[str, Any]:
    """Return the names that the calls use: tensors, and arrays of the same values."""
    random = np.random.RandomState(0)
    arrays = {
        "x": random.rand(4, 6).astype(np.float32),
        "y": random.rand(4, 6).astype(np.float32),
        "i": np.array([0, 1, 2, 1], np.int32),
        "img": random.rand(2, 8, 8, 3).astype(np.float32),
        "seq": random.rand(4, 5, 6).astype(np.float32),
        "n": np.array([5, 3, 4, 2], np.int32),
    }
    tensors = {name: tf.constant(value) for name, value in arrays.items()}
    result = {f"a_{name}": value for name, value in arrays.items()}
    variable = tf.get_variable("v", [4, 6], initializer=tf.constant_initializer(0.5))
    return result | tensors | {"tf": tf, "np": np, "v": variable}


def _tensors(tf: Any, result: Any) -> list[Any]:
    """Return the tensors and operations of a result."""
    if isinstance(result, (tf.Tensor, tf.Operation)):
        return [result]
    if isinstance(result, (tf.SparseTensor, tf.IndexedSlices)):
        return [result.values, result.indices]
    if isinstance(result, dict):
        return [each for key in sorted(result) for each in _tensors(tf, result[key])]
    if isinstance(result, (list, tuple)):
        return [each for part in result for each in _tensors(tf, part)]
    return [result.value()] if hasattr(result, "initializer") and hasattr(result, "value") else []


def outcome(tf: Any, call: str, is_run: bool) -> Any:
    """Return the values that a call yields, or the class and the message of its error."""
    try:
        with tf.Graph().as_default(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tf.set_random_seed(1)
            names = values(tf)
            names["cell"] = tf.nn.rnn_cell.BasicLSTMCell(7)
            fetches = _tensors(tf, eval(call, names))
            described = [(str(getattr(each, "dtype", "")).replace("_ref", "")) for each in fetches]
            shapes = [str(getattr(each, "shape", "")) for each in fetches]
            if not is_run:
                return described, shapes, None
            with tf.Session(config=tf.ConfigProto(inter_op_parallelism_threads=1)) as session:
                session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
                session.run(tf.tables_initializer())
                return described, shapes, session.run(fetches)
    except (Exception, SystemError) as error:
        return type(error).__name__, str(error)[:300]


_NOT_RUN = ("tf.train.batch", "tf.train.shuffle_batch", "_producer", "tf.FIFOQueue", "py_func")


def side(name: str, folder: Path, only: str) -> None:
    """Run all forms with one library and write the outcomes."""
    tf = library(name)
    if name == "gpugraph":
        import gpugraph  # noqa: PLC0415

        with gpugraph.as_tensorflow():
            import tensorflow as tf  # noqa: PLC0415
    tf.logging.set_verbosity("ERROR")
    outcomes: dict[str, dict[str, Any]] = {}
    for call in calls():
        if only in call:
            forms = forms_of(call)
            is_run = not any(part in call for part in _NOT_RUN)
            outcomes[call] = {form: outcome(tf, text, is_run) for form, text in forms.items()}
    (folder / f"{name}.pickle").write_bytes(pickle.dumps(outcomes))


def _is_error(result: Any) -> bool:
    return len(result) == 2


def _same(ours: Any, theirs: Any) -> bool:
    if ours[0] != theirs[0]:
        return False
    if ours[2] is None or theirs[2] is None:
        return bool(ours[1] == theirs[1])
    for one, other in zip(ours[2], theirs[2], strict=True):
        if np.shape(one) != np.shape(other):
            return False
    return True


def _close(ours: Any, theirs: Any) -> bool:
    for one, other in zip(ours[2] or (), theirs[2] or (), strict=True):
        a, b = np.asarray(one), np.asarray(other)
        if a.dtype.kind in "fc":
            if not np.allclose(a, b, rtol=1e-3, atol=1e-4, equal_nan=True):
                return False
        elif a.dtype != object and not np.array_equal(a, b):
            return False
    return True


_RANDOM = ("random", "multinomial", "layers.", "rnn", "shuffle", "sample", "summary", "Optimizer")
_RANDOM += ("get_variable", "Embedding", "categorical", "dropout", "alpha_dropout", "fractional")
_RANDOM += ("svd", "self_adjoint_eig", "cell", "Attention", "nce_loss", "truncated", "embed")
_RANDOM += ("metrics.",)  # a run orders the value and its update freely


def differences(ours: Any, theirs: Any) -> Iterator[tuple[str, str, str, str]]:
    """Yield kind, call, form and detail of each difference."""
    for call, forms in theirs.items():
        if _is_error(forms[""]):
            continue
        for form, result in forms.items():
            mine = ours[call][form]
            if form.endswith("Dimension") and _is_error(result) and "Dimension" in result[1]:
                continue  # 2.21 has lost conversions that 1.15 has
            if _is_error(result) != _is_error(mine):
                kind = "refused" if _is_error(mine) else "accepted"
                detail = ": ".join(mine if _is_error(mine) else result)
                yield kind, call, form, detail.replace("\n", " ")[:200]
            elif not _is_error(mine):
                is_random = any(part in call for part in _RANDOM)
                if not _same(mine, result) or not (is_random or _close(mine, result)):
                    yield "values", call, form, f"{mine[:2]} {result[:2]}"


def main() -> int:
    """Run both sides, print the differences, and return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add_options(parser)
    parser.add_argument("--only", default="", help="only calls with this text")
    parser.add_argument("--list", choices=(*LIMITS, "all"), help="print the cases of a kind")
    parser.add_argument("--keep", type=Path, help="keep the outcomes in a folder")
    options = parser.parse_args()
    if options.side:
        side(options.side[0], Path(options.side[1]), options.only)
        os._exit(0)
    with tempfile.TemporaryDirectory() as temporary:
        folder = str(options.keep or temporary)
        chosen = ["--only", options.only]
        python = python_of_tensorflow(options.tensorflow)
        if not (Path(folder) / "tensorflow.pickle").exists():
            run_side(python, __file__, "tensorflow", Path(folder), *chosen)
        run_side(sys.executable, __file__, "gpugraph", Path(folder), *chosen)
        ours, theirs = (
            pickle.loads((Path(folder) / f"{name}.pickle").read_bytes())
            for name in ("gpugraph", "tensorflow")
        )
    found = list(differences(ours, theirs))
    counts = Counter(kind for kind, *_ in found)
    compared = [forms for forms in theirs.values() if not _is_error(forms[""])]
    total = sum(len(forms) for forms in compared)
    print(f"{total} forms of {len(compared)} calls: ", end="")
    print(", ".join(f"{counts[kind]} {kind}" for kind in LIMITS))
    for kind, *rest in found:
        if options.list in (kind, "all"):
            print(kind, *rest, sep=" | ")
    return int(any(counts[kind] > limit for kind, limit in LIMITS.items()))


if __name__ == "__main__":
    sys.exit(main())
