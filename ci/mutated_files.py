"""Mutated files of every format, each read with limits of time and memory: a table of outcomes.

    python ci/mutated_files.py [--count 50000] [--seed 1] [--only FORMAT] [--processes 2]

A file is read, or refused by an error of a class that its reader documents. All else is a fault: an
error of another class, a read that does not return, a crash of the process, one that asks for much
memory. `--count` files are spread over the formats by their weights. The exit status is 1 if there
are faults. A file of the table's faults comes back with `--only FORMAT --number NUMBER`.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import importlib.util
import io
import json
import os
import random
import resource
import select
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402

import gpugraph as tf  # noqa: E402
from gpugraph.formats.variable_files.conversion import convert_variables  # noqa: E402
from tests.building.graph_files import graph_file_fuzzer  # noqa: E402
from tests.formats.checkpoints import checkpoint_fuzzer  # noqa: E402
from tests.formats.checkpoints.checkpoint_fuzzer import mutated  # noqa: E402

One = Callable[[random.Random], str]
"""Makes a file, reads it, and returns the outcome. Refusals are raised."""

SECONDS = 30
"""So long may a file take, of which some share the processor."""

STARTING = 300
"""So long may a process take until it has its first file."""

MEMORY = 2 << 30

KERAS_REFUSALS = (OSError, ValueError, TypeError, NotImplementedError, tf.errors.OpError)
"""TypeError: a layer's argument of another name or type, as Python and Keras have it."""

GRAPH_REFUSALS = (*graph_file_fuzzer.REFUSALS, RuntimeError, OSError)
"""RuntimeError: no meta graph of the tags; KeyError: a name that a collection has and no node."""


# -- Keras


def models() -> list[Any]:
    """Models of several kinds, compiled, whose configurations are mutated."""
    layers = tf.keras.layers
    plain = tf.keras.Sequential(
        [layers.Dense(6, input_shape=(4,), activation="relu"), layers.Dropout(0.5), layers.Dense(3)]
    )
    x = tf.keras.Input((5, 4))
    branch = layers.Bidirectional(layers.LSTM(3, return_sequences=True))(x)
    y = layers.Conv1D(4, 3, padding="same", kernel_regularizer="l2")(x)
    y = layers.Flatten()(layers.BatchNormalization()(layers.concatenate([branch, y])))
    several = tf.keras.Model(x, [layers.Dense(2, name="a")(y), layers.Dense(1, name="b")(y)])
    nested = tf.keras.Sequential([layers.TimeDistributed(plain, input_shape=(2, 4))])
    for model, losses in ((plain, "mse"), (several, {"a": "mae", "b": "mse"}), (nested, "mse")):
        model.compile(tf.keras.optimizers.Adam(0.01), losses, metrics=["mae"])
    return [plain, several, nested]


def hdf5_bytes(folder: Path) -> One:
    """Return bytes of files of models and of weights."""
    paths = [folder / f"seed{number}.h5" for number in range(4)]
    made = models()
    for path, model in zip(paths, made, strict=False):
        model.save(path)
    made[0].save_weights(paths[3])
    seeds = [path.read_bytes() for path in paths]
    path = folder / "mutated.h5"

    def one(chance: random.Random) -> str:
        number = chance.randrange(4)
        path.write_bytes(mutated(seeds[number], chance, chance.choice(seeds)))
        if number < 3:
            tf.keras.models.load_model(path)
            return "a model"
        model = tf.keras.Sequential(
            [tf.keras.layers.Dense(6, input_shape=(4,)), tf.keras.layers.Dense(3)]
        )
        model.load_weights(path)
        return "weights"

    return fresh(one)


def fresh(one: One) -> One:
    """Return a function that reads each file with a separate graph."""

    def run(chance: random.Random) -> str:
        tf.keras.backend.clear_session()
        return one(chance)

    return run


def hdf5_configurations(_: Path) -> One:
    """Configurations in whole files, mutated as structures."""
    h5py: Any = importlib.import_module("h5py")
    seeds = []
    for model in models():
        image = io.BytesIO()
        with h5py.File(image, "w") as file:
            model.save(file)
        seeds.append(image.getvalue())

    def one(chance: random.Random) -> str:
        with h5py.File(io.BytesIO(chance.choice(seeds)), "r+") as file:
            name = chance.choice(("model_config", "model_config", "training_config"))
            text = file.attrs[name]
            file.attrs[name] = changed_text(text, chance)
            tf.keras.models.load_model(file)
        return "a model"

    return fresh(one)


def json_models(_: Path) -> One:
    """Models as JSON, mutated as structures."""
    seeds = [model.to_json() for model in models()]

    def one(chance: random.Random) -> str:
        tf.keras.models.model_from_json(changed_text(chance.choice(seeds), chance))
        return "a model"

    return fresh(one)


def changed_text(text: str | bytes, chance: random.Random) -> str:
    """JSON with some of its values changed, left out, exchanged, or as text that may be none."""
    value = json.loads(text)
    for _ in range(chance.choice((1, 1, 2, 4))):
        value = changed(value, chance)
    made = json.dumps(value)
    if chance.random() < 0.1:
        made = mutated(made.encode(), chance).decode("utf-8", "replace").replace("\0", "")
    return made


def changed(value: Any, chance: random.Random) -> Any:
    """Return a structure with one place changed."""
    value = copy.deepcopy(value)
    places = [(None, None), *inner_places(value)]
    owner, key = chance.choice(places)
    if owner is None:
        return chance.choice((value, [value], odd(chance))) if chance.random() < 0.1 else value
    kind = chance.randrange(5)
    if kind == 0:
        del owner[key]
    elif kind == 1:
        other, other_key = chance.choice(places[1:])
        owner[key] = copy.deepcopy(other[other_key]) if other_key_is_there(other, other_key) else 0
    elif kind == 2 and isinstance(owner, dict):
        owner[chance.choice(("x", "", "layers", f"{key}_"))] = owner.pop(key)
    elif kind == 2:
        owner.append(copy.deepcopy(owner[key]))
    else:
        owner[key] = odd(chance)
    return value


def other_key_is_there(owner: Any, key: Any) -> bool:
    return key in owner if isinstance(owner, dict) else key < len(owner)


def inner_places(value: Any) -> list[tuple[Any, Any]]:
    """Return each place in a structure: its container, and its key."""
    if not isinstance(value, (dict, list)):
        return []
    keys: Any = value if isinstance(value, dict) else range(len(value))
    found: list[tuple[Any, Any]] = []
    for key in list(keys):
        found += [(value, key), *inner_places(value[key])]
    return found


def odd(chance: random.Random) -> Any:
    """Return a value where another is expected."""
    plain = (None, True, False, 0, 1, -1, 1 << 40, 2.5, -0.0, 1e308, "", "x", "Dense", "float32")
    nested = ([], {}, [[]], [None], {"class_name": "Dense"}, {"class_name": "Lambda", "config": {}})
    return copy.deepcopy(chance.choice((*plain, *nested, ["a", 0, 0], float("nan"))))


# -- graphs, variables, records


def graph_defs(_: Path) -> One:
    """Meta graphs and their GraphDefs, imported."""
    seeds = graph_file_fuzzer.seeds()
    return lambda chance: graph_file_fuzzer.outcome(
        graph_file_fuzzer.mutated(chance.choice(seeds), chance)
    )


def saved_models(folder: Path) -> One:
    """SavedModels with a table's file and a main op: the graph or the variables mutated."""
    words = folder / "words"
    words.write_text("a\nb\n")
    path = folder / "model"
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        w = tf.get_variable("w", [2, 1], initializer=tf.ones_initializer())
        tf.contrib.lookup.index_table_from_file(str(words)).lookup(tf.constant(["a"]))
        y = tf.matmul(x, w, name="y")
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        builder = tf.saved_model.Builder(str(path))
        signature = tf.saved_model.predict_signature_def({"x": x}, {"y": y})
        builder.add_meta_graph_and_variables(
            session, ["serve"], {"s": signature}, main_op=tf.tables_initializer()
        )
        builder.save()
    files = {file: file.read_bytes() for file in path.rglob("*") if file.is_file()}
    graph = path / "saved_model.pb"
    message = tf.SavedModel.FromString(files[graph]) if hasattr(tf, "SavedModel") else None

    def one(chance: random.Random) -> str:
        for file, content in files.items():
            file.write_bytes(content)
        if message is not None and chance.random() < 0.5:
            other = copy.deepcopy(message)
            with contextlib.suppress(ValueError, TypeError):  # protobuf refuses the value
                graph_file_fuzzer.mutate_field(other, chance)
            graph.write_bytes(other.SerializeToString())
        else:
            file = chance.choice([graph, graph, *files])
            file.write_bytes(mutated(files[file], chance, files[graph]))
        with tf.saved_model.load_function(path):
            return "a function"

    return one


def compressed_records(folder: Path) -> One:
    """TFRecord files, plain and compressed."""
    path = folder / "records"
    seeds = {}
    for kind in ("", "GZIP", "ZLIB"):
        with tf.python_io.TFRecordWriter(str(path), kind) as writer:
            for record in (b"", b"abc", bytes(3000), np.random.default_rng(0).bytes(500)):
                writer.write(record)
        seeds[kind] = path.read_bytes()

    def one(chance: random.Random) -> str:
        kind = chance.choice(list(seeds))
        path.write_bytes(mutated(seeds[kind], chance, seeds[chance.choice(list(seeds))]))
        count = sum(1 for _ in tf.python_io.tf_record_iterator(str(path), kind))
        return f"{count} records" if count < 5 else "5 or more records"

    return one


def arrays(folder: Path) -> One:
    """npz and safetensors files, converted into each other and into a checkpoint."""
    values = {"net/w": np.ones((2, 3), np.float32), "step": np.array(7), "m": np.array([True])}
    np.savez(folder / "seed.npz", **{name.replace("/", "_"): v for name, v in values.items()})
    np.savez_compressed(folder / "small.npz", big=np.zeros(3000), **{"a": np.arange(9)})
    convert_variables(str(folder / "seed.npz"), str(folder / "seed.safetensors"))
    seeds = [(p.suffix, p.read_bytes()) for p in sorted(folder.iterdir())]

    def one(chance: random.Random) -> str:
        suffix, content = chance.choice(seeds)
        source = folder / f"mutated{suffix}"
        source.write_bytes(mutated(content, chance, seeds[0][1]))
        target = chance.choice(("out.npz", "out.safetensors", "out"))
        written = convert_variables(str(source), str(folder / target))
        return f"{len(written)} arrays"

    return one


class Format(NamedTuple):
    """Files of one kind: their maker and reader, their share, and their errors."""

    make: Callable[[Path], One]
    weight: int
    refusals: tuple[type[Exception], ...]


CHECKPOINTS = checkpoint_fuzzer.REFUSALS
FORMATS = {
    "HDF5, bytes": Format(hdf5_bytes, 4, KERAS_REFUSALS),
    "HDF5, configurations": Format(hdf5_configurations, 8, KERAS_REFUSALS),
    "models as JSON": Format(json_models, 12, KERAS_REFUSALS),
    "GraphDefs": Format(graph_defs, 15, GRAPH_REFUSALS),
    "SavedModels": Format(saved_models, 6, GRAPH_REFUSALS),
    "meta graphs": Format(checkpoint_fuzzer.KINDS["metas"], 5, GRAPH_REFUSALS),
    "checkpoints": Format(checkpoint_fuzzer.KINDS["bundles"], 15, CHECKPOINTS),
    "state files": Format(checkpoint_fuzzer.KINDS["states"], 10, CHECKPOINTS),
    "event files": Format(checkpoint_fuzzer.KINDS["records"], 10, CHECKPOINTS),
    "TFRecords": Format(compressed_records, 10, CHECKPOINTS),
    "npz, safetensors": Format(arrays, 5, CHECKPOINTS),
}


# -- the process that reads


def read_files(name: str, seed: int, numbers: range) -> None:
    """Make and read files; print the number of each before, and its outcome after."""
    kind = FORMATS[name]
    tf.logging.set_verbosity("FATAL")
    with tempfile.TemporaryDirectory() as folder:
        one = kind.make(Path(folder))
        with open("/proc/self/statm", encoding="ascii") as file:
            pages = int(file.read().split()[0])
        limit = pages * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        for number in numbers:
            print(number, flush=True)
            chance = random.Random(f"{name} {seed} {number}")
            try:
                outcome = f"read: {one(chance)}"
            except kind.refusals as error:
                outcome = f"refused: {type(error).__name__}"
            except Exception as error:  # whatever is no refusal is a fault
                text = " ".join(str(error).split())[:200]
                outcome = f"FAULT: {type(error).__name__}: {text}"
            print(f" {outcome}", flush=True)


# -- the process that watches


class Watched:
    """A format's files, read by one process after the other."""

    def __init__(self, name: str, seed: int, count: int) -> None:
        self.name, self.seed, self.count = name, seed, count
        self.outcomes: Counter[str] = Counter()
        self.faults: list[str] = []

    def run(self) -> None:
        """Have all files read; the end of a process is a fault of the file that it reads."""
        first = 0
        while first < self.count:
            first = self._run_from(first) + 1

    def _run_from(self, first: int) -> int:
        """Read files from a number on, and return the last number."""
        command = [sys.executable, __file__, "--read", self.name, "--seed", str(self.seed)]
        command += ["--first", str(first), "--count", str(self.count)]
        with subprocess.Popen(
            command,
            bufsize=0,  # lines that wait in a buffer are not seen by `select`
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as child:
            assert child.stdout is not None
            number, problem, seconds = first, "", STARTING
            while True:
                ready = select.select([child.stdout], [], [], seconds)[0]
                seconds = SECONDS
                line = child.stdout.readline().decode() if ready else ""
                if not line:
                    problem = "" if ready else "HANG"
                    break
                if line[0] == " ":
                    self._note(number, line.strip())
                else:
                    number = int(line)
            if problem:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)
            status = child.wait()
        if problem or status:
            self._note(number, problem or f"CRASH: exit status {status}")
            return number
        return self.count

    def _note(self, number: int, outcome: str) -> None:
        if outcome.startswith(("FAULT", "HANG", "CRASH")):
            self.faults.append(f"{self.name}, {number} of seed {self.seed}: {outcome}")
            outcome = ":".join(outcome.split(":")[:2])
        self.outcomes[outcome] += 1


def table(all_watched: list[Watched]) -> list[str]:
    """Return a line for each format and outcome."""
    lines = []
    for watched in all_watched:
        total = sum(watched.outcomes.values())
        lines.append(f"{watched.name}: {total} files, {len(watched.faults)} faults")
        lines += [f"{times:10} {outcome}" for outcome, times in watched.outcomes.most_common()]
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=50_000, help="files of all formats together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=FORMATS, help="one format alone")
    parser.add_argument("--number", type=int, help="one file of it alone, with its traceback")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--read", choices=FORMATS, help=argparse.SUPPRESS)
    parser.add_argument("--first", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.read:
        read_files(options.read, options.seed, range(options.first, options.count))
        return 0
    if options.number is not None:
        with tempfile.TemporaryDirectory() as folder:
            chance = random.Random(f"{options.only} {options.seed} {options.number}")
            print(FORMATS[options.only].make(Path(folder))(chance))
        return 0
    chosen = [options.only] if options.only else list(FORMATS)
    whole = sum(FORMATS[name].weight for name in chosen)
    all_watched = [
        Watched(name, options.seed, options.count * FORMATS[name].weight // whole)
        for name in chosen
    ]
    waiting = list(all_watched)

    def work() -> None:
        while waiting:
            waiting.pop(0).run()

    threads = [threading.Thread(target=work) for _ in range(options.processes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    faults = [fault for watched in all_watched for fault in watched.faults]
    print(*table(all_watched), *faults[:60], sep="\n")
    total = sum(sum(watched.outcomes.values()) for watched in all_watched)
    print(f"{total} files, {len(faults)} faults")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
