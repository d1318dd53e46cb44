"""Ten networks built by gpugraph and by tf-keras: tables, numbers of parameters, outputs, files.

    python ci/against_tensorflow/keras_architectures.py --tensorflow PYTHON [--only NAME]

Seven are of keras-applications, by which TensorFlow 1.15 builds them: the side of TensorFlow gives
that package its own `tf.keras`, as 1.15 does. Three are of
tests/library/keras/applications. For each it
compares

- the text of `summary()` at full size, and the number of parameters with the published one;
- the outputs at a small size with equal weights;
- the losses and variables of three steps of gradient descent, in float64: what is normalized by few
  examples makes much of a rounding,

and prints how long building and the first run take. Then networks of TensorFlow's own
`tf.keras.applications` write their weights by `save_weights`, and those here read them, in order,
and by name but for the last layer, which later versions call `predictions`, and 1.15 `probs`
(ResNet50) or `Logits` (MobileNetV2).

It fails where a text differs, where an output differs by more than 1e-4 of the largest, and where
a loss or the mean of a variable differs by more than 1e-6.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import re
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sides import ROOT, add_options, library, python_of_tensorflow, run_side

LIMIT, TRAINED_LIMIT = 1e-4, 1e-6
WIDE = 4000
"""A length of lines at which tf-keras breaks no cell of a table."""

COLUMNS = {3: (65, (0.45, 0.85, 1.0)), 4: (98, (0.33, 0.55, 0.67, 1.0))}
"""By the number of columns, 1.15's length of lines and where in it columns end."""


class Network(NamedTuple):
    """A function of TensorFlow and sizes, the parameters that are published, and small sizes."""

    build: Callable[..., Any]
    published: int
    small: dict[str, Any]
    shapes: list[tuple[int, ...]]
    """Of inputs at the small size; words, below 20, where the network has embeddings."""


def application(module: str, name: str) -> Callable[..., Any]:
    """Return the function that builds a network of keras-applications in a TensorFlow's
    `tf.keras`.
    """

    def build(tf: Any, **sizes: Any) -> Any:
        keras = tf.keras
        if tf.__name__ == "gpugraph":
            return getattr(keras.applications, name)(weights=None, **sizes)
        function = getattr(importlib.import_module(f"keras_applications.{module}"), name)
        modules = {key: getattr(keras, key) for key in ("backend", "layers", "models", "utils")}
        return function(weights=None, **modules, **sizes)

    return build


def functional(name: str) -> Callable[..., Any]:
    """Return the function of that name in tests/library/keras/applications."""
    path = ROOT / "tests" / "keras" / "applications" / "functional_networks.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)


def images(size: int) -> dict[str, Any]:
    """Return the fields of a network for small images."""
    shape = (size, size, 3)
    return {"small": {"input_shape": shape, "classes": 10}, "shapes": [(2, *shape)]}


NETWORKS = {
    "VGG16": Network(application("vgg16", "VGG16"), 138_357_544, **images(32)),
    "ResNet50": Network(application("resnet", "ResNet50"), 25_636_712, **images(32)),
    "InceptionV3": Network(application("inception_v3", "InceptionV3"), 23_851_784, **images(75)),
    "Xception": Network(application("xception", "Xception"), 22_910_480, **images(71)),
    "MobileNetV2": Network(application("mobilenet_v2", "MobileNetV2"), 3_538_984, **images(64)),
    "DenseNet121": Network(application("densenet", "DenseNet121"), 8_062_504, **images(32)),
    "NASNetMobile": Network(application("nasnet", "NASNetMobile"), 5_326_716, **images(64)),
    "U-Net": Network(
        functional("unet"),
        31_031_685,
        {"size": 16, "filters": 4, "depth": 2, "dropout": 0.0},
        [(2, 16, 16, 1)],
    ),
    "transformer": Network(
        functional("transformer_encoder"),
        18_914_304,
        {"blocks": 2, "features": 8, "heads": 2, "hidden": 16, "dropout": 0.0},
        [(2, 5, 8)],
    ),
    "translator": Network(
        functional("translator"), 7_333_952, {"words": 20, "units": 6}, [(2, 7), (2, 5)]
    ),
}
OWN = ("MobileNetV2", "ResNet50")
"""Networks whose weights TensorFlow writes from its own `tf.keras.applications`."""


def give_weights(model: Any) -> None:
    """Weights that everybody has, with which values neither grow nor vanish."""
    random = np.random.RandomState(3)
    weights = []
    for variable in model.weights:
        shape = variable.shape.as_list()
        if len(shape) > 1:
            size = np.sqrt(2 / np.prod(shape[:-1]))
            weights.append(random.uniform(-1, 1, shape) * size * np.sqrt(3))
        else:
            is_scale = any(part in variable.name for part in ("gamma", "variance"))
            weights.append(random.uniform(-0.2, 0.2, shape) + is_scale)
    model.set_weights([weight.astype(np.float32) for weight in weights])


def outputs(tf: Any, model: Any, shapes: list[tuple[int, ...]]) -> list[np.ndarray]:
    """Return the outputs of the last two layers: after a softmax little would be seen."""
    random = np.random.RandomState(5)
    is_words = all(len(shape) == 2 for shape in shapes)
    feeds = [
        random.randint(0, 20, shape) if is_words else random.uniform(-1, 1, shape)
        for shape in shapes
    ]
    fetches = [layer.output for layer in model.layers[-2:]]
    return tf.keras.backend.function(model.inputs, fetches)([f.astype(np.float32) for f in feeds])


def train(tf: Any, network: Network) -> list[float]:
    """Return the losses of three steps in float64, and the mean size of each variable after
    them.
    """
    tf.keras.backend.set_floatx("float64")
    model = network.build(tf, **network.small)
    give_weights(model)
    random = np.random.RandomState(7)
    is_words = all(len(shape) == 2 for shape in network.shapes)
    shapes = [(8, *shape[1:]) for shape in network.shapes]
    x = [random.randint(1, 20, s) if is_words else random.uniform(-1, 1, s) for s in shapes]
    sizes = [size or shapes[-1][1] for size in model.output_shape[1:]]
    y = random.uniform(0, 1, (8, *sizes))
    model.compile(tf.keras.optimizers.SGD(0.01), "mse")
    losses = [float(model.train_on_batch(x, y)) for _ in range(3)]
    tf.keras.backend.set_floatx("float32")
    return [*losses, *(float(np.abs(array).mean()) for array in model.get_weights())]


def run_network(tf: Any, network: Network, path: Path) -> dict[str, Any]:
    """Return the table of the network and its seconds; outputs go to the path."""
    lines: list[str] = []
    begin = time.perf_counter()
    model = network.build(tf)
    built = time.perf_counter() - begin
    wide = {} if tf.__name__ == "gpugraph" else {"line_length": WIDE}
    model.summary(print_fn=lambda line, *_: lines.extend(line.split("\n")), **wide)
    parameters = model.count_params()
    tf.keras.backend.clear_session()
    small = network.build(tf, **network.small)
    give_weights(small)
    begin = time.perf_counter()
    arrays = outputs(tf, small, network.shapes)
    ran = time.perf_counter() - begin
    np.savez(path, *arrays)
    record = {"lines": lines, "parameters": parameters, "built": built, "ran": ran}
    tf.keras.backend.clear_session()
    return {**record, "trained": train(tf, network)}


def write_own(tf: Any, name: str, folder: Path) -> None:
    """TensorFlow's own network writes its weights, its outputs and its layers."""
    network = NETWORKS[name]
    model = getattr(tf.keras.applications, name)(weights=None, **network.small)
    give_weights(model)
    model.save_weights(str(folder / f"{name}.h5"))
    np.savez(folder / f"{name}-own.npz", *outputs(tf, model, network.shapes))


def read_own(tf: Any, name: str, folder: Path, by_name: bool) -> float:
    """Return how much outputs differ behind TensorFlow's own weights."""
    network = NETWORKS[name]
    model = network.build(tf, **network.small)
    model.load_weights(str(folder / f"{name}.h5"), by_name=by_name)
    ours, theirs = outputs(tf, model, network.shapes), load(folder / f"{name}-own.npz")
    return difference(ours[:-1], theirs[:-1]) if by_name else difference(ours, theirs)


def run_side_of(side: str, folder: Path, only: str) -> None:
    """Run all networks on one side, with a file of the results that are not arrays."""
    tf = library(side)
    records: dict[str, Any] = {}
    for name, network in NETWORKS.items():
        if only in name:
            tf.keras.backend.clear_session()
            records[name] = run_network(tf, network, folder / f"{name}-{side}.npz")
    for name in OWN:
        if only not in name:
            continue
        tf.keras.backend.clear_session()
        if side == "tensorflow":
            write_own(tf, name, folder)
        else:
            for by_name in (False, True):
                text = f"{name}, weights {'by name' if by_name else 'in order'}"
                records[text] = {"difference": read_own(tf, name, folder, by_name)}
    (folder / f"{side}.json").write_text(json.dumps(records))


def load(path: Path) -> list[np.ndarray]:
    """Return the arrays of a file."""
    return list(np.load(path).values())


def difference(ours: list[np.ndarray], theirs: list[np.ndarray]) -> float:
    """Return the largest difference, relative to the largest value of its array."""
    return max(float(np.abs(a - b).max() / np.abs(b).max()) for a, b in zip(ours, theirs))


def as_of_1_15(lines: list[str]) -> list[str]:
    """Convert a table by tf-keras, printed so wide that no cell is broken, to TensorFlow 1.15's
    form.

    1.15 has lines between layers, cuts cells that are too long, where tf-keras goes on in the next
    line, writes connections one per line without quotes, and numbers of parameters with commas and
    without their bytes. The contents of the cells are tf-keras's.
    """
    begin = next(number for number, line in enumerate(lines) if "Layer (type)" in line)
    end = max(number for number, line in enumerate(lines) if line.startswith("="))
    headers = [text for text in lines[begin].split("  ") if text.strip()]
    starts = [lines[begin].index(text.strip()) for text in headers]
    width, parts = COLUMNS[len(headers)]
    rows: list[list[str]] = []
    for line in lines[begin:end]:
        cells = [line[a:b].strip() for a, b in zip(starts, [*starts[1:], None])]
        if cells[0] and not line.startswith("="):
            rows.append(cells)
        elif not cells[0]:
            rows[-1][-1] += cells[-1]
    table = [f'Model: "{model_name(lines)}"', "_" * width]
    for number, (*cells, last) in enumerate(rows):
        if number:
            table.append(("=" if number == 1 else "_") * width)
        connections = re.findall("'(.*?)'", last) if last.startswith("[") else [last]
        table.append(row([*cells, *(connections[:1] or [""])], width, parts))
        table += [row(["", "", "", text], width, parts) for text in connections[1:]]
    totals = (line.partition(" (")[0].split(": ") for line in lines[end:] if "params" in line)
    return [
        *table,
        "=" * width,
        *(f"{text}: {int(number):,}" for text, number in totals),
        "_" * width,
    ]


def model_name(lines: list[str]) -> str:
    """Return the name in the first line of a table."""
    return lines[0].split('"')[1]


def row(cells: list[str], width: int, parts: tuple[float, ...]) -> str:
    """Cells, each cut where its column ends and before it a blank."""
    text = ""
    for cell, part in zip(cells, parts):
        end = int(width * part)
        text = ((text[:-1] + " " if text else "") + cell)[:end].ljust(end)
    return text


def differing_line(ours: list[str], theirs: list[str]) -> str:
    """Return the first line in which two tables differ, "" where they are equal."""
    for number, (one, other) in enumerate(zip_longest(ours, theirs)):
        if one != other:
            return f"line {number} of the table is {one!r}, not {other!r}"
    return ""


def compare(folder: Path, name: str, ours: dict[str, Any], theirs: dict[str, Any]) -> list[str]:
    """Return the differences between the two sides of a network."""
    faults = [differing_line(ours["lines"], as_of_1_15(theirs["lines"]))]
    numbers = {ours["parameters"], theirs["parameters"], NETWORKS[name].published}
    if len(numbers) > 1:
        faults.append(f"{numbers} parameters")
    arrays = [load(folder / f"{name}-{side}.npz") for side in ("gpugraph", "tensorflow")]
    worst = difference(*arrays)
    if not worst <= LIMIT:
        faults.append(f"outputs differ by {worst:.1e}")
    steps = float(np.max(np.abs(np.subtract(ours["trained"], theirs["trained"]))))
    if not steps <= TRAINED_LIMIT:
        faults.append(f"losses or variables differ by {steps:.1e}")
    print(
        f"{name:14} {ours['parameters']:12,} parameters, outputs {worst:.1e}, trained {steps:.1e}; "
        f"seconds to build {ours['built']:.1f} (TensorFlow {theirs['built']:.1f}), "
        f"to run first {ours['ran']:.1f} ({theirs['ran']:.1f})"
    )
    return [fault for fault in faults if fault]


def main() -> int:
    """Run both sides and print the differences."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser)
    parser.add_argument("--only", default="", help="a part of the names of networks")
    parser.add_argument("--package", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side:
        sys.path.append(options.package)
        run_side_of(options.side[0], Path(options.side[1]), options.only)
        return 0
    spec = importlib.util.find_spec("keras_applications")
    if spec is None or spec.origin is None:
        raise SystemExit("keras-applications is not installed: pip install '.[applications]'")
    further = ["--only", options.only, "--package", str(Path(spec.origin).parents[1])]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        python = python_of_tensorflow(options.tensorflow)
        run_side(python, __file__, "tensorflow", folder, *further)
        run_side(sys.executable, __file__, "gpugraph", folder, *further)
        ours, theirs = (
            json.loads((folder / f"{side}.json").read_text()) for side in ("gpugraph", "tensorflow")
        )
        faults = [
            f"{network}: {fault}"
            for network, record in theirs.items()
            for fault in compare(folder, network, ours.pop(network), record)
        ]
    for text, record in ours.items():
        print(f"{text}: outputs differ by {record['difference']:.1e}")
        if not record["difference"] <= LIMIT:
            faults.append(f"{text}: outputs differ")
    print("\n".join([*faults, f"{len(faults)} faults"]))
    return min(len(faults), 1)


if __name__ == "__main__":
    sys.exit(main())
