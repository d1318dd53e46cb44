"""SavedModels of TensorFlow 2's functions and Keras models, run here.

    python ci/against_tensorflow/function_models.py --tensorflow PYTHON [--only MODEL]

TensorFlow's Python writes each model of MODELS with its inputs and the answers of its functions.
gpugraph loads it by `tf.saved_model.load` of v1 and by `load_function`, and calls each signature:
answers have to be equal to 1e-5. The graph is then exported and imported again, by both.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from sides import add_options, library, python_of_tensorflow, run_side

LIMIT = 1e-5

Signatures = dict[str, tuple[Any, list[Any]]]
"""Functions with the arguments of their calls; the answers are dicts."""


def numbers(*shape: int) -> Any:
    return (np.arange(np.prod(shape), dtype=np.float32) % 17 - 8).reshape(shape) / 16


def of_functions(tf: Any) -> Any:
    """Return a module of functions: variables, branches, loops, tables, gradients, calls."""

    class Functions(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
            self.count = tf.Variable(0)
            keys = tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([1, 2], tf.int64))
            self.table = tf.lookup.StaticHashTable(keys, -1)

    return Functions()


def control_flow(tf: Any) -> tuple[Any, Signatures]:
    module = of_functions(tf)

    def branch(x: Any) -> Any:
        return {"y": tf.cond(x > 0, lambda: x * module.w[0, 0], lambda: module.w[1, 1] - x)}

    def loop(n: Any) -> Any:
        body = lambda i, a: (i + 1, tf.matmul(a, module.w) / 4)  # noqa: E731
        i, a = tf.while_loop(lambda i, a: i < n, body, [0, tf.ones([2, 2])])
        return {"i": i, "a": a}

    def switch(n: Any) -> Any:
        cases = [lambda: 1.0, lambda: module.w[0, 1], lambda: 3.0]
        return {"y": tf.switch_case(n, cases)}

    def nested(n: Any) -> Any:
        step = lambda i, a: (i + 1, tf.cond(i % 2 == 0, lambda: a + 1, lambda: a * 3))  # noqa: E731
        return {"y": tf.while_loop(lambda i, a: i < n, step, [0, 1.0])[1]}

    return module, {
        "branch": (branch, [np.float32(2), np.float32(-2)]),
        "loop": (loop, [np.int32(3), np.int32(0)]),
        "switch": (switch, [np.int32(0), np.int32(1), np.int32(9)]),
        "nested": (nested, [np.int32(7)]),
    }


def tables_and_state(tf: Any) -> tuple[Any, Signatures]:
    module = of_functions(tf)

    def look(x: Any) -> Any:
        return {"ids": module.table.lookup(x)}

    def count(x: Any) -> Any:
        return {"count": module.count.assign_add(x)}

    return module, {
        "look": (look, [np.array([b"a", b"z", b"b"], object)]),
        "count": (count, [np.int32(4)]),
    }


def gradients(tf: Any) -> tuple[Any, Signatures]:
    module = of_functions(tf)

    def gradient(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.sin(tf.matmul(x, module.w)))
        return {"dx": tape.gradient(y, x), "y": y}

    @tf.function
    def inner(x: Any) -> Any:
        return tf.nn.relu(x) @ module.w

    def calls(x: Any) -> Any:
        return {"y": inner(inner(x)) + inner(x)}

    return module, {"gradient": (gradient, [numbers(3, 2)]), "calls": (calls, [numbers(3, 2)])}


def lists(tf: Any) -> tuple[Any, Signatures]:
    module = of_functions(tf)

    def squares(n: Any) -> Any:
        array = tf.TensorArray(tf.float32, n)
        body = lambda i, a: (i + 1, a.write(i, tf.cast(i * i, tf.float32)))  # noqa: E731
        return {"y": tf.while_loop(lambda i, a: i < n, body, [0, array])[1].stack()}

    def rows(x: Any) -> Any:
        return {"y": tf.map_fn(lambda row: tf.reduce_sum(row * module.w[0]), x)}

    return module, {"squares": (squares, [np.int32(5)]), "rows": (rows, [numbers(4, 2)])}


def keras_model(layers: Any, *shape: int, dtype: str = "float32") -> Any:
    """Return a function that makes a Sequential model, and the array that it is called with."""

    def make(tf: Any) -> tuple[Any, Signatures]:
        keras = tf.keras
        keras.utils.set_random_seed(1)
        model = keras.Sequential([keras.layers.InputLayer(shape[1:], dtype=dtype), *layers(keras)])
        x = numbers(*shape) if dtype == "float32" else np.arange(np.prod(shape)).reshape(shape) % 9
        return model, {"serving_default": (model, [x.astype(dtype)])}

    return make


def attention(tf: Any) -> tuple[Any, Signatures]:
    keras = tf.keras
    keras.utils.set_random_seed(1)
    x = keras.Input((6, 4))
    y = keras.layers.MultiHeadAttention(2, 4)(x, x)
    y = keras.layers.Dense(2)(keras.layers.LayerNormalization()(x + y))
    model = keras.Model(x, y)
    return model, {"serving_default": (model, [numbers(2, 6, 4)])}


MODELS = {
    "control_flow": control_flow,
    "tables_and_state": tables_and_state,
    "gradients": gradients,
    "lists": lists,
    "dense": keras_model(lambda k: [
        k.layers.Dense(5, activation="relu"), k.layers.BatchNormalization(), k.layers.Dropout(0.5),
        k.layers.Dense(2, activation="softmax")], 3, 8),
    "convolutions": keras_model(lambda k: [
        k.layers.Conv2D(4, 3, activation="relu"), k.layers.MaxPool2D(),
        k.layers.DepthwiseConv2D(3), k.layers.SeparableConv2D(5, 1),
        k.layers.GlobalAveragePooling2D(), k.layers.Dense(3)], 2, 12, 12, 3),
    "attention": attention,
    "simple_rnn": keras_model(lambda k: [k.layers.SimpleRNN(5), k.layers.Dense(2)], 2, 6, 4),
    "lstm_and_gru": keras_model(lambda k: [
        k.layers.LSTM(5, return_sequences=True), k.layers.GRU(3), k.layers.Dense(2)], 2, 6, 4),
    "bidirectional": keras_model(lambda k: [
        k.layers.Bidirectional(k.layers.LSTM(5)), k.layers.Dense(2)], 2, 6, 4),
    "masked_embedding": keras_model(lambda k: [
        k.layers.Embedding(20, 4, mask_zero=True), k.layers.LSTM(3), k.layers.Dense(1)],
        2, 7, dtype="int32"),
    "upsampling": keras_model(lambda k: [
        k.layers.Conv2DTranspose(3, 2, 2), k.layers.UpSampling2D(), k.layers.Flatten(),
        k.layers.Dense(2)], 1, 4, 4, 2),
}  # fmt: skip


def write_all(folder: Path, only: str) -> None:
    """Write the models, and beside each the inputs and answers of its signatures."""
    os.environ["TF_USE_LEGACY_KERAS"] = "1"
    tf = importlib.import_module("tensorflow")
    for name in [only] if only else MODELS:
        model, signatures = MODELS[name](tf)
        path = folder / name
        if "serving_default" in signatures:
            model.save(path, save_format="tf")
        else:
            functions = {
                key: tf.function(function).get_concrete_function(tf.TensorSpec(
                    [None] * np.ndim(inputs[0]), tf.as_dtype(getattr(inputs[0], "dtype", None)),
                    name="x"))
                for key, (function, inputs) in signatures.items()
            }  # fmt: skip
            for key, function in functions.items():
                setattr(model, f"function_{key}", function)
            tf.saved_model.save(model, path, signatures=functions)
            signatures = {k: (functions[k], inputs) for k, (_, inputs) in signatures.items()}
        rows = []
        for key, (function, inputs) in signatures.items():
            for value in inputs:
                answer = function(tf.constant(value))
                answer = answer if isinstance(answer, dict) else {"": answer}
                rows.append((key, value, {k: v.numpy() for k, v in answer.items()}))
        np.save(folder / f"{name}.npy", np.array([rows], object)[:, None][0], allow_pickle=True)


def run_all(folder: Path, only: str) -> None:
    """Run the models by gpugraph, and report faults."""
    tf = library("gpugraph")
    tf.logging.set_verbosity("ERROR")
    lines = []
    for name in [only] if only else MODELS:
        faults = []
        rows = np.load(folder / f"{name}.npy", allow_pickle=True)[0]
        for key, value, answer in rows:
            try:
                faults += compare(tf, str(folder / name), key, value, answer)
            except Exception as error:  # a model that is refused is a fault
                faults.append(f"{key}: {type(error).__name__}: {str(error)[:300]}")
        lines.append(f"{name}: {len(rows)} calls, {len(faults)} faults")
        lines += [f"  {fault}" for fault in faults]
    (folder / "report").write_text("\n".join(lines), "utf-8")


def compare(tf: Any, path: str, key: str, value: Any, answer: dict[str, Any]) -> list[str]:
    """Return the faults of one call: loaded, as a function, and exported and imported again."""
    with tf.Graph().as_default() as graph, tf.Session() as session:
        signature = tf.saved_model.load(session, ["serve"], path).signature_def[key]
        (info,) = signature.inputs.values()
        outputs = {name: output.name for name, output in signature.outputs.items()}
        results = {"loaded": session.run(outputs, {info.name: value})}
        exported = graph.as_graph_def()
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(exported, name="")
        if graph.as_graph_def() != exported:
            return ["the graph that is exported again differs"]
    with tf.saved_model.load_function(path, key) as function:
        results["function"] = function(dict.fromkeys(signature.inputs, value))
    faults = []
    for where, result in results.items():
        for name, wanted in answer.items():
            got = result[name] if name else next(iter(result.values()))
            if np.shape(got) != np.shape(wanted) or not np.allclose(got, wanted, LIMIT, LIMIT):
                faults.append(f"{key} {where}: {name} is {got!r:.80}, not {wanted!r:.80}")
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", metavar="MODEL", help="the one model of this name")
    add_options(parser)
    options = parser.parse_args()
    if options.side:
        side = {"write": write_all, "run": run_all}[options.side[0]]
        side(Path(options.side[1]), options.only)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        only = ["--only", options.only] if options.only else []
        tensorflow = python_of_tensorflow(options.tensorflow)
        run_side(tensorflow, __file__, "write", Path(folder), *only)
        run_side(sys.executable, __file__, "run", Path(folder), *only)
        text = (Path(folder) / "report").read_text("utf-8")
    print(text)
    return int("\n  " in text)


if __name__ == "__main__":
    sys.exit(main())
