"""Checkpoints beside TensorFlow's: saved by each, restored by the other, trained on.

    python ci/against_tensorflow/checkpoints.py --tensorflow PYTHON [--only CASE]

Of each case both libraries save a checkpoint with the same values; each restores the other's. The
files have to be equal in names, shapes and dtypes, and all values equal to the bit. Where
a case has a step of training, it is trained before it is saved, and three steps on after it is
restored: the losses have to be those of the one that saved it, to 1e-5.
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

LIMIT = 1e-5
SIDES = ("gpugraph", "tensorflow")
NUMBERS = (
    *("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)


class Case:
    """A graph of one case.

    values: tensors by name, which are compared. saver: saves and restores. step, loss: of
    training, where there is any. reads: restores in place of the saver.
    """

    def __init__(self, tf: Any, values: dict[str, Any], saver: Any, **options: Any) -> None:
        self.tf, self.values, self.saver = tf, values, saver
        self.step, self.loss = options.get("step"), options.get("loss")
        self.reads: Any = options.get("reads")

    def save(self, session: Any, path: str) -> str:
        if isinstance(self.saver, self.tf.train.Checkpoint):
            return str(self.saver.save(path, session))
        return str(self.saver.save(session, path))

    def restore(self, session: Any, path: str) -> None:
        if self.reads is not None:
            self.reads(session, path)
        elif isinstance(self.saver, self.tf.train.Checkpoint):
            self.saver.restore(path).assert_consumed().initialize_or_restore(session)
        else:
            self.saver.restore(session, path)


def numbers(*shape: int) -> Any:
    """Return numbers that are the same on both sides."""
    return (np.arange(np.prod(shape), dtype=np.float32) % 17 - 8).reshape(shape) / 16


def variable(tf: Any, name: str, *shape: int, **options: Any) -> Any:
    return tf.get_variable(name, initializer=tf.constant(numbers(*shape)), **options)


def of_every_dtype(tf: Any, use_resource: bool) -> Case:
    values = {
        name: tf.get_variable(
            name,
            initializer=tf.constant((numbers(3, 5) * 16).astype(np.float64).astype(name)),
            use_resource=use_resource,
        )
        for name in NUMBERS
    }
    floats = tf.cast(tf.constant(numbers(4, 3) * 1e30), tf.bfloat16)
    values["bfloat16"] = tf.get_variable("bfloat16", initializer=floats, use_resource=use_resource)
    flags = tf.constant([True, False, True])
    values["bool"] = tf.get_variable("bool", initializer=flags, use_resource=use_resource)
    texts = tf.constant([["", "a"], ["\u00e4\u00f6", "x" * 300]])
    values["string"] = tf.get_variable("string", initializer=texts, use_resource=use_resource)
    return Case(tf, values, tf.train.Saver(list(values.values())))


def every_dtype(tf: Any, reading: bool) -> Case:
    return of_every_dtype(tf, use_resource=False)


def every_dtype_resources(tf: Any, reading: bool) -> Case:
    return of_every_dtype(tf, use_resource=True)


def sharded(tf: Any, reading: bool) -> Case:
    values = {}
    for index in range(4):
        with tf.device(f"/job:localhost/task:0/cpu:{index % 2}"):
            values[f"v{index}"] = variable(tf, f"v{index}", 5, index + 1, use_resource=index > 1)
    return Case(tf, values, tf.train.Saver(sharded=True))


def partitioned(tf: Any, reading: bool) -> Case:
    """Saved in three parts, restored in two, and as a whole."""
    parts = [2, 1] if reading else [3, 1]
    whole = variable(tf, "w", 6, 4, partitioner=lambda **_: parts)
    column = variable(tf, "c", 2, 6, partitioner=lambda **_: [1, parts[0]])
    var_list: Any = [whole, column]
    if reading:
        with tf.variable_scope("other"):
            once_more = variable(tf, "w", 6, 4)
        first = tf.train.Saver(var_list)
        second = tf.train.Saver({"w": once_more})
        values = {"w": tf.convert_to_tensor(whole), "c": tf.convert_to_tensor(column)}
        same = tf.reduce_all(tf.equal(values["w"], once_more))

        def reads(session: Any, path: str) -> None:
            first.restore(session, path)
            second.restore(session, path)
            assert session.run(same)

        return Case(tf, values, first, reads=reads)
    values = {"w": tf.convert_to_tensor(whole), "c": tf.convert_to_tensor(column)}
    return Case(tf, values, tf.train.Saver(var_list))


def strings(tf: Any, reading: bool) -> Case:
    texts = np.array([b"", b"\x00\xff", b"a" * 70000, "\u20ac".encode()], object)
    values = {
        "texts": tf.get_variable("texts", initializer=tf.constant(texts)),
        "one": tf.get_variable("one", initializer=tf.constant("single")),
        "none": tf.get_variable("none", initializer=tf.constant([], tf.string)),
    }
    return Case(tf, values, tf.train.Saver())


def reshaped(tf: Any, reading: bool) -> Case:
    shape = (3, 4) if reading else (2, 6)
    first, second = variable(tf, "a", *shape), variable(tf, "b", *shape, use_resource=True)
    values = {"a": tf.reshape(first, [12]), "b": tf.reshape(second, [12])}
    return Case(tf, values, tf.train.Saver(reshape=True))


def many_small(tf: Any, reading: bool) -> Case:
    values = {
        f"scope{index % 7}/v{index}": variable(tf, f"scope{index % 7}/v{index}", index % 3 + 1)
        for index in range(400)
    }
    return Case(tf, values, tf.train.Saver(restore_sequentially=True))


def empty(tf: Any, reading: bool) -> Case:
    values = {
        f"v{index}": tf.get_variable(f"v{index}", initializer=tf.zeros(shape, dtype))
        for index, (shape, dtype) in enumerate(
            [((0,), "float32"), ((3, 0, 2), "int64"), ((0, 0), "bool"), ((), "float64")]
        )
    }
    return Case(tf, values, tf.train.Saver())


def renamed(tf: Any, reading: bool) -> Case:
    first, second = variable(tf, "b" if reading else "a", 3), variable(tf, "z", 2, 2)
    saver = tf.train.Saver({"the/name": first, "other": second})
    return Case(tf, {"the/name": first, "other": second}, saver)


def large(tf: Any, reading: bool) -> Case:
    first = variable(tf, "large", 1500, 2000, use_resource=True)
    return Case(tf, {"large": first, "small": variable(tf, "small", 3)}, tf.train.Saver())


def initialized(tf: Any, reading: bool) -> Case:
    """Restored by `init_from_checkpoint`."""
    with tf.variable_scope("new" if reading else "old"):
        values = {"w": variable(tf, "w", 4, 3), "b": variable(tf, "b", 3, use_resource=True)}

    def reads(session: Any, path: str) -> None:
        tf.train.init_from_checkpoint(path, {"old/": "new/"})
        session.run(tf.global_variables_initializer())

    return Case(tf, values, tf.train.Saver(), reads=reads)


def network(tf: Any, use_resource: bool) -> tuple[Any, list[Any]]:
    """Return the loss of a small convolutional net, and its variables."""
    names = [("kernel", 3, 3, 2, 4), ("w", 64, 5), ("bias", 5)]
    kernel, w, bias = (variable(tf, *item, use_resource=use_resource) for item in names)
    images = tf.constant(numbers(2, 8, 8, 2))
    net = tf.nn.relu(tf.nn.conv2d(images, kernel, [1, 1, 1, 1], "SAME"))
    net = tf.nn.max_pool(net, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
    scores = tf.matmul(tf.reshape(net, [-1, 64]), w) + bias
    labels = tf.one_hot([1, 3], 5)
    loss = tf.losses.softmax_cross_entropy(labels, scores)
    return loss, [kernel, w, bias]


def adam_net(tf: Any, reading: bool) -> Case:
    loss, _ = network(tf, use_resource=False)
    step = tf.train.AdamOptimizer(0.01).minimize(loss, tf.train.get_or_create_global_step())
    values = {item.op.name: item for item in tf.global_variables()}
    return Case(tf, values, tf.train.Saver(), step=step, loss=loss)


def averaged_resource_net(tf: Any, reading: bool) -> Case:
    """Momentum, RMSProp and moving averages, of resource variables."""
    loss, variables = network(tf, use_resource=True)
    steps = [
        tf.train.MomentumOptimizer(0.01, 0.9).minimize(loss, var_list=variables[:1]),
        tf.train.RMSPropOptimizer(0.01, momentum=0.5).minimize(loss, var_list=variables[1:]),
    ]
    with tf.control_dependencies(steps):
        step = tf.train.ExponentialMovingAverage(0.9).apply(variables)
    values = {item.op.name: item for item in tf.global_variables()}
    return Case(tf, values, tf.train.Saver(), step=step, loss=loss)


def object_net(tf: Any) -> dict[str, Any]:
    """Return a module, a layer and an optimizer with slots; step and loss."""
    net = tf.Module(name="net")
    net.w = variable(tf, "w", 4, 3)
    net.parts = [variable(tf, "first", 3), {"a.b": variable(tf, "second", 2)}]
    net.more = {"x/y": tf.get_variable("text", initializer=tf.constant("text"), trainable=False)}
    layer = tf.layers.Dense(2, name="dense", kernel_initializer=tf.constant_initializer(0.25))
    hidden = tf.tanh(tf.matmul(tf.constant(numbers(5, 4)), net.w) + net.parts[0])
    loss = tf.reduce_mean(tf.square(layer(hidden) * net.parts[1]["a.b"] - 1.0))
    optimizer = tf.train.AdamOptimizer(0.05)
    counter = tf.train.get_or_create_global_step()
    return {
        "objects": {"net": net, "layer": layer, "optimizer": optimizer, "counter": counter},
        "step": optimizer.minimize(loss, counter),
        "loss": loss,
    }


def objects(tf: Any, reading: bool) -> Case:
    parts = object_net(tf)
    checkpoint = tf.train.Checkpoint(**parts.pop("objects"))
    values = {item.op.name: item for item in tf.global_variables()}
    return Case(tf, values, checkpoint, **parts)


def objects_by_name(tf: Any, reading: bool) -> Case:
    """Saved by a Checkpoint, restored by a Saver."""
    parts = object_net(tf)
    checkpoint = tf.train.Checkpoint(**parts.pop("objects"))
    values = {item.op.name: item for item in tf.global_variables()}
    saver = tf.train.Saver() if reading else None
    reads = None if saver is None else saver.restore
    return Case(tf, values, checkpoint, reads=reads, **parts)


def names_into_objects(tf: Any, reading: bool) -> Case:
    """Saved by a Saver, restored by a Checkpoint."""
    parts = object_net(tf)
    checkpoint = tf.train.Checkpoint(**parts.pop("objects"))
    counter = checkpoint.save_counter  # TensorFlow asks for it in the other checkpoint too
    values = {counter.op.name: counter}
    values |= {item.op.name: item for item in tf.global_variables()}

    def reads(session: Any, path: str) -> None:
        status = checkpoint.restore(path)
        status.run_restore_ops(session)
        status.assert_consumed()

    return Case(tf, values, tf.train.Saver(), reads=reads, **parts)


def keras_layers(tf: Any, reading: bool) -> Case:
    """Keras's layers in a Sequential model."""
    ones = tf.keras.initializers.Constant(0.125)
    layers = [
        tf.keras.layers.Flatten(input_shape=(2, 3)),
        tf.keras.layers.Dense(4, kernel_initializer=ones, activation="tanh"),
        tf.keras.layers.Dense(2, kernel_initializer=ones),
    ]
    model = tf.keras.Sequential(layers)
    loss = tf.reduce_mean(tf.square(model(tf.constant(numbers(5, 2, 3))) - 1.0))
    step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    values = {f"w{index}": item for index, item in enumerate(model.weights)}
    return Case(tf, values, tf.train.Checkpoint(model=model), step=step, loss=loss)


def keras_optimizer(tf: Any, reading: bool) -> Case:
    """Return a Sequential model with an optimizer of Keras, its settings and slots."""
    ones = tf.keras.initializers.Constant(0.125)
    layers = [
        tf.keras.layers.Dense(4, kernel_initializer=ones, activation="tanh", input_shape=(3,)),
        tf.keras.layers.BatchNormalization(),
        tf.keras.layers.Dense(2, kernel_initializer=ones),
    ]
    model = tf.keras.Sequential(layers)
    loss = tf.reduce_mean(tf.square(model(tf.constant(numbers(5, 3))) - 1.0))
    optimizer = tf.keras.optimizers.Adam(0.05)
    step = optimizer.get_updates(loss, model.trainable_weights)
    values = {f"w{index}": item for index, item in enumerate(model.weights)}
    checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer)
    return Case(tf, values, checkpoint, step=step, loss=loss)


CASES: dict[str, Callable[[Any, bool], Case]] = {
    case.__name__: case
    for case in (
        *(every_dtype, every_dtype_resources, sharded, partitioned, strings, reshaped),
        *(many_small, empty, renamed, large, initialized, adam_net, averaged_resource_net),
        *(objects, objects_by_name, names_into_objects, keras_layers, keras_optimizer),
    )
}


def plain(value: Any) -> list[Any]:
    """Return a value as dtype, shape and bytes, for comparisons to the bit."""
    array = np.asarray(value)
    if array.dtype == object or array.dtype.kind in "SU":
        items = [item if isinstance(item, bytes) else str(item).encode() for item in array.flat]
        return ["string", list(array.shape), [item.hex() for item in items]]
    return [array.dtype.name, list(array.shape), array.tobytes().hex()]


def described(tf: Any, path: str) -> dict[str, Any]:
    """Return the contents of a checkpoint, as the library reads it, without the graph of
    objects.
    """
    reader = tf.train.load_checkpoint(path)
    shapes, dtypes = reader.get_variable_to_shape_map(), reader.get_variable_to_dtype_map()
    contents = {}
    for name in sorted(shapes):
        graph = name == "_CHECKPOINTABLE_OBJECT_GRAPH"
        value = None if graph else plain(reader.get_tensor(name))
        contents[name] = [list(shapes[name]), dtypes[name].name, value]
    return contents


def losses(case: Case, session: Any) -> list[float]:
    """Return the losses of three steps of training."""
    if case.step is None:
        return []
    return [(float(session.run(case.loss)), session.run(case.step))[0] for _ in range(3)]


def record(tf: Any, case: Case, session: Any, path: str) -> dict[str, Any]:
    """Return the values of a case, the contents of its checkpoint, and the losses of further
    training.
    """
    values = {name: plain(value) for name, value in session.run(case.values).items()}
    contents = described(tf, path)
    return {"values": values, "contents": contents, "losses": losses(case, session)}


def session_of(tf: Any) -> Any:
    return tf.Session(config=tf.ConfigProto(device_count={"CPU": 2}, allow_soft_placement=True))


def save_all(tf: Any, names: list[str], folder: Path, side: str) -> None:
    results = {}
    for name in names:
        with tf.Graph().as_default(), session_of(tf) as session:
            case = CASES[name](tf, False)
            session.run(tf.global_variables_initializer())
            if isinstance(case.saver, tf.train.Checkpoint):
                session.run(case.saver.save_counter.initializer)
            losses(case, session)
            (folder / side / name).mkdir(parents=True)
            path = case.save(session, str(folder / side / name / "model"))
            results[name] = {"path": path, **record(tf, case, session, path)}
    (folder / f"{side}_saved.json").write_text(json.dumps(results), "utf-8")


def restore_all(tf: Any, names: list[str], folder: Path, side: str) -> None:
    other = next(item for item in SIDES if item != side)
    saved = json.loads((folder / f"{other}_saved.json").read_text("utf-8"))
    results = {}
    for name in names:
        with tf.Graph().as_default(), session_of(tf) as session:
            case = CASES[name](tf, True)
            path = saved[name]["path"]
            case.restore(session, path)
            results[name] = record(tf, case, session, path)
    (folder / f"{side}_restored.json").write_text(json.dumps(results), "utf-8")


def faults_of(saved: dict[str, Any], restored: dict[str, Any], title: str) -> list[str]:
    """Return where a restored checkpoint differs from the saved one."""
    faults = [
        f"{title}: {part} differ: {key}"
        for part in ("values", "contents")
        for key in sorted(saved[part].keys() | restored[part].keys())
        if saved[part].get(key) != restored[part].get(key)
    ]
    gaps = [abs(a - b) for a, b in zip(saved["losses"], restored["losses"], strict=True)]
    if gaps and not max(gaps) <= LIMIT:
        faults.append(f"{title}: losses {restored['losses']} instead of {saved['losses']}")
    return faults


def compare(folder: Path, names: list[str]) -> list[str]:
    """Return all faults, and a line for each case."""
    read = {
        f"{side}_{kind}": json.loads((folder / f"{side}_{kind}.json").read_text("utf-8"))
        for side in SIDES
        for kind in ("saved", "restored")
    }
    faults = []
    for name in names:
        found = []
        for side, other in (SIDES, SIDES[::-1]):
            saved, restored = read[f"{side}_saved"][name], read[f"{other}_restored"][name]
            found += faults_of(saved, restored, f"{name}, saved by {side}, restored by {other}")
        ours, theirs = (read[f"{side}_saved"][name]["contents"] for side in SIDES)
        keys = [(key, item[:2]) for key, item in ours.items()]
        if keys != [(key, item[:2]) for key, item in theirs.items()]:
            found.append(f"{name}: names, shapes or dtypes differ: {ours.keys() ^ theirs.keys()}")
        trained = " trained on" if read["gpugraph_saved"][name]["losses"] else ""
        print(f"{name}: {len(ours)} tensors both ways{trained}, {len(found)} faults")
        faults += found
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_options(parser)
    parser.add_argument("--only", choices=CASES, help="one case")
    parser.add_argument("--restore", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    names = [options.only] if options.only else list(CASES)
    if options.side:
        side, folder = options.side
        (restore_all if options.restore else save_all)(library(side), names, Path(folder), side)
        return 0
    pythons = {"gpugraph": sys.executable, "tensorflow": python_of_tensorflow(options.tensorflow)}
    only = ["--only", options.only] if options.only else []
    with tempfile.TemporaryDirectory() as folder:
        for extra in ([], ["--restore"]):
            for side, python in pythons.items():
                run_side(python, __file__, side, Path(folder), *only, *extra)
        faults = compare(Path(folder), names)
    print("\n".join(faults) or f"{len(names)} checkpoints both ways: 0 faults")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
