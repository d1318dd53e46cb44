"""SavedModels beside TensorFlow's: written by each, loaded by the other, run and trained on.

    python ci/against_tensorflow/saved_models.py --tensorflow PYTHON [--only MODEL]

TensorFlow's Python loads both. Of each model of MODELS both libraries write a SavedModel, with the
same values in its variables; each loads the other's. Signatures and tags have to be equal,
variables equal to the bit, and outputs equal to 1e-5; where the model has a step of training, they
have to be so after three steps too. `load_function` calls each signature. A convolutional net that
TensorFlow has frozen is run here as well.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from sides import add_options, library, python_of_tensorflow, run_side

LIMIT = 1e-5


def values(*shape: int) -> Any:
    """Return numbers that are the same on both sides."""
    return (np.arange(np.prod(shape), dtype=np.float32) % 17 - 8).reshape(shape) / 16


def variable(tf: Any, name: str, *shape: int, use_resource: bool = False) -> Any:
    return tf.get_variable(name, initializer=tf.constant(values(*shape)), use_resource=use_resource)


def dense_net(tf: Any, folder: Path) -> dict[str, Any]:
    x = tf.placeholder(tf.float32, [None, 4], name="x")
    hidden = tf.nn.relu(tf.matmul(x, variable(tf, "w", 4, 8)) + variable(tf, "b", 8))
    y = tf.nn.softmax(tf.matmul(hidden, variable(tf, "v", 8, 3)), name="y")
    loss = tf.reduce_mean(tf.square(y - values(3)))
    tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss, name="train")
    return {"serving_default": ({"x": x}, {"y": y, "loss": loss})}


def convolutional_net(tf: Any, folder: Path) -> dict[str, Any]:
    x = tf.placeholder(tf.float32, [None, 8, 8, 3], name="x")
    kernel = variable(tf, "kernel", 3, 3, 3, 4, use_resource=True)
    net = tf.nn.relu(tf.nn.conv2d(x, kernel, [1, 1, 1, 1], "SAME"))
    net = tf.nn.max_pool(net, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
    flat = tf.reshape(net, [-1, 64])
    y = tf.matmul(flat, variable(tf, "w", 64, 2, use_resource=True), name="y")
    tf.train.AdamOptimizer(0.01).minimize(tf.reduce_mean(tf.square(y)), name="train")
    return {"serving_default": ({"images": x}, {"scores": y})}


def control_flow(tf: Any, folder: Path) -> dict[str, Any]:
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    w = variable(tf, "w", 2, 2)
    y = tf.while_loop(lambda i, v: i < 4, lambda i, v: (i + 1, tf.tanh(tf.matmul(v, w))), [0, x])[1]
    y = tf.cond(tf.reduce_sum(y) > 0, lambda: y * 2, lambda: y - 1)
    tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(y * y), name="train")
    return {"serving_default": ({"x": x}, {"y": y})}


def words(tf: Any, folder: Path) -> dict[str, Any]:
    """Return an asset, a main op that reads it, strings in and out."""
    path = folder / "words.txt"
    path.write_text("the words of an asset", "utf-8")
    name = tf.constant(str(path), name="path")
    tf.add_to_collection(tf.GraphKeys.ASSET_FILEPATHS, name)
    text = tf.get_variable(
        "text", initializer="none yet", collections=[tf.GraphKeys.LOCAL_VARIABLES], trainable=False
    )
    tf.assign(text, tf.read_file(name), name="main")
    variable(tf, "unused", 3)
    x = tf.placeholder(tf.string, [None], name="x")
    return {"serving_default": ({"x": x}, {"y": tf.string_join([x, text], ": ")})}


def dtypes_and_signatures(tf: Any, folder: Path) -> dict[str, Any]:
    """Several signatures, sparse values, variables of many dtypes."""
    x = tf.placeholder(tf.int64, [None], name="x")
    sparse = tf.sparse_placeholder(tf.float32, [None, 4], name="sparse")
    names = ("bool", "int8", "uint8", "int16", "int32", "int64", "float16", "float64", "complex64")
    kinds = [
        tf.get_variable(name, initializer=tf.cast(tf.constant(values(5) * 16), name),
                        trainable=False)
        for name in names
    ]  # fmt: skip
    total = tf.add_n([tf.reduce_sum(tf.cast(kind, tf.float64)) for kind in kinds[:-1]])
    product = tf.sparse_tensor_dense_matmul(sparse, variable(tf, "w", 4, 2))
    return {
        "count": ({"x": x}, {"y": tf.cast(x, tf.float64) + total}),
        "sparse": ({"sparse": sparse}, {"product": product}),
    }


def examples(tf: Any, folder: Path) -> dict[str, Any]:
    """Examples of features, several ways; updates whose locking is a default."""
    x = tf.placeholder(tf.string, [None], name="examples")
    features = {
        "dense": tf.FixedLenFeature([2], tf.float32),
        "filled": tf.FixedLenFeature([], tf.int64, 7),
        "sparse": tf.VarLenFeature(tf.int64),
    }
    parsed = tf.io.parse_example(x, features)
    some = tf.io.parse_example(x, {"dense": features["dense"]})
    others = tf.io.parse_example(x, {"sparse": features["sparse"]})
    one = tf.io.parse_single_example(x[0], features)
    count = variable(tf, "count", 3, use_resource=True)
    count.scatter_nd_add([[1]], [1.0], name="train")
    filled = tf.placeholder_with_default(1.5, None, name="open")
    return {
        "serving_default": (
            {"examples": x},
            {
                "dense": parsed["dense"] + some["dense"] + tf.cast(filled, tf.float32),
                "filled": parsed["filled"],
                "values": parsed["sparse"].values + others["sparse"].values,
                "single": one["dense"],
                "count": count.read_value(),
            },
        )
    }


MODELS = {
    "examples": examples,
    "dense_net": dense_net,
    "convolutional_net": convolutional_net,
    "control_flow": control_flow,
    "words": words,
    "dtypes_and_signatures": dtypes_and_signatures,
}

STRIPPED = {"examples", "convolutional_net", "dtypes_and_signatures"}
"""Models that are written without attrs that have their default."""

FEEDS: dict[str, Any] = {
    "x": lambda shape: values(*(size or 2 for size in shape)),
    "images": lambda shape: values(2, 8, 8, 3),
}


def example(tf: Any, dense: list[float], sparse: list[int]) -> bytes:
    """Return an Example of two features."""
    message = tf.train.Example()
    message.features.feature["dense"].float_list.value.extend(dense)
    message.features.feature["sparse"].int64_list.value.extend(sparse)
    content: bytes = message.SerializeToString()
    return content


def feeds_of(tf: Any, signature: Any) -> dict[str, Any]:
    """Something to feed to each input of a SignatureDef, by the input's name."""
    result = {}
    for key, info in signature.inputs.items():
        shape = [2 if dim.size < 0 else dim.size for dim in info.tensor_shape.dim]
        dtype = tf.as_dtype(info.dtype)
        if info.WhichOneof("encoding") == "coo_sparse":
            result[key] = tf.SparseTensorValue([[0, 1], [2, 3]], values(2), [3, 4])
        elif key == "examples":
            result[key] = np.array([example(tf, [1.0, 2.0], [3, 4]), example(tf, [5.0, 6.0], [7])])
        elif dtype == tf.string:
            result[key] = np.array([b"a", b"b"], object)
        else:
            result[key] = values(*shape).astype(dtype.as_numpy_dtype)
    return result


def write(tf: Any, name: str, folder: Path) -> str:
    """Write the SavedModel of one library."""
    export_dir = folder / tf.__name__.partition(".")[0]
    with tf.Graph().as_default(), tf.Session() as session:
        signatures = {
            key: tf.saved_model.predict_signature_def(inputs, outputs)
            for key, (inputs, outputs) in MODELS[name](tf, folder).items()
        }
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        names = {op.name for op in session.graph.get_operations()}
        main = session.graph.get_operation_by_name("main") if "main" in names else None
        builder = tf.saved_model.Builder(str(export_dir))
        builder.add_meta_graph_and_variables(
            session, ["serve", "tag"], signatures, main_op=main,
            assets_collection=tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS),
            strip_default_attrs=name in STRIPPED,
        )  # fmt: skip
        builder.save(as_text=name == "dense_net")
    return str(export_dir)


def run(tf: Any, export_dir: str) -> dict[str, Any]:
    """Return the results of a SavedModel's signatures, before and after training, and its
    variables.
    """
    result: dict[str, Any] = {}
    with tf.Graph().as_default(), tf.Session() as session:
        meta_graph = tf.saved_model.load(session, ["serve", "tag"], export_dir)
        for item in tf.global_variables():
            result[f"variable {item.name}"] = session.run(item)
        names = {op.name for op in session.graph.get_operations()}
        for step in range(4 if "train" in names else 1):
            for key, signature in meta_graph.signature_def.items():
                feeds = {
                    tf.saved_model.get_tensor_from_tensor_info(signature.inputs[name]): value
                    for name, value in feeds_of(tf, signature).items()
                }
                for output, info in signature.outputs.items():
                    tensor = tf.saved_model.get_tensor_from_tensor_info(info)
                    result[f"{key}.{output} after {step}"] = session.run(tensor, feeds)
                if step < 3 and "train" in names:
                    session.run("train", feeds)
    return result


def faults_of(where: str, got: dict[str, Any], expected: dict[str, Any]) -> list[str]:
    """How results differ: variables in any bit, all else by more than 1e-5."""
    faults = [f"{where}: {key} only on one side" for key in got.keys() ^ expected.keys()]
    for key in got.keys() & expected.keys():
        mine, other = np.asarray(got[key]), np.asarray(expected[key])
        if mine.dtype != other.dtype or mine.shape != other.shape:
            faults.append(f"{where}: {key} is {mine.dtype} {mine.shape}, not {other.dtype}")
        elif key.startswith("variable") or mine.dtype == object:
            if not np.array_equal(mine, other):
                faults.append(f"{where}: {key} differs")
        elif not np.allclose(mine, other, LIMIT, LIMIT):
            faults.append(f"{where}: {key} differs by {np.abs(mine - other).max()}")
    return faults


def signature_bytes(tf: Any, export_dir: str) -> dict[str, bytes]:
    with tf.Session(graph=tf.Graph()) as session:
        meta_graph = tf.saved_model.load(session, ["serve", "tag"], export_dir)
    return {
        key: signature.SerializeToString(deterministic=True)
        for key, signature in meta_graph.signature_def.items()
    }


def compare(name: str, ours: Any, theirs: Any, folder: Path) -> list[str]:
    """Return the faults of one model."""
    here, there = write(ours, name, folder), write(theirs, name, folder)
    expected = run(theirs, there)
    faults = faults_of("TensorFlow's, loaded here", run(ours, there), expected)
    faults += faults_of("ours, loaded by TensorFlow", run(theirs, here), expected)
    faults += faults_of("ours, loaded here", run(ours, here), expected)
    same_nodes = name != "examples"  # TensorFlow 2 parses by ParseExampleV2
    if same_nodes and signature_bytes(ours, here) != signature_bytes(theirs, there):
        faults.append("signatures differ")
    message = ours.saved_model.loader.load(
        ours.Session(graph=ours.Graph()), ["serve", "tag"], there
    )
    for key, signature in message.signature_def.items():
        with ours.saved_model.load_function(there, key, tags=["serve", "tag"]) as function:
            results = function(feeds_of(ours, signature))
        wanted = {output: expected[f"{key}.{output} after 0"] for output in signature.outputs}
        faults += faults_of(f"load_function {key}", results, wanted)
    return faults


def frozen_net(ours: Any, theirs: Any, folder: Path) -> list[str]:
    """Return a convolutional net that TensorFlow freezes and writes, run here."""
    with theirs.Graph().as_default() as graph, theirs.Session() as session:
        MODELS["convolutional_net"](theirs, folder)
        session.run(theirs.global_variables_initializer())
        frozen = theirs.graph_util.convert_variables_to_constants(
            session, graph.as_graph_def(), ["y"]
        )
        expected = session.run("y:0", {"x:0": values(2, 8, 8, 3)})
    (folder / "frozen.pb").write_bytes(frozen.SerializeToString())
    graph_def = ours.GraphDef.FromString((folder / "frozen.pb").read_bytes())
    with ours.Graph().as_default(), ours.Session() as session:
        ours.import_graph_def(graph_def, name="")
        got = session.run("y:0", {"x:0": values(2, 8, 8, 3)})
    return faults_of("frozen", {"y": got}, {"y": expected})


def compare_all(folder: Path, only: str) -> None:
    theirs = library("tensorflow")
    del sys.modules["gpugraph"]
    ours = importlib.import_module("gpugraph")
    ours.logging.set_verbosity("ERROR")
    lines = []
    for name in [only] if only else [*MODELS, "frozen_net"]:
        place = folder / name
        place.mkdir()
        try:
            faults = (frozen_net(ours, theirs, place) if name == "frozen_net"
                      else compare(name, ours, theirs, place))  # fmt: skip
        except Exception as error:  # a model that one of the two refuses is a fault
            faults = [f"{type(error).__name__}: {error}"]
        lines.append(f"{name}: {len(faults)} faults")
        lines += [f"  {fault}" for fault in faults]
    (folder / "report").write_text("\n".join(lines), "utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", metavar="MODEL", help="the one model of this name")
    add_options(parser)
    options = parser.parse_args()
    if options.side:
        compare_all(Path(options.side[1]), options.only)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        only = ["--only", options.only] if options.only else []
        python = python_of_tensorflow(options.tensorflow)
        run_side(python, __file__, "both", Path(folder), *only)
        text = (Path(folder) / "report").read_text("utf-8")
    print(text)
    return int("\n  " in text)


if __name__ == "__main__":
    sys.exit(main())
