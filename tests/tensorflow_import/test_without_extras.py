"""A plain install: names can be read, errors be shown, and calls that need an extra name it.

Each program runs in a process that can import none of the extras' packages.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_floors import CUPY_NAMES, ONE_FILE

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ({*ONE_FILE, *CUPY_NAMES} | {"PIL", "scipy", "yaml"}) - {"google"}
BLOCK = f"""
import sys
sys.modules.update(dict.fromkeys({sorted(PACKAGES)!r}))
"""


def output_of(program: str, *arguments: str, status: int = 0) -> str:
    """Run the program without the extras' packages; the text of both streams."""
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", BLOCK + program, *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT), "GPUGRAPH_NATIVE": "0"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert ended.returncode == status, ended.stdout
    return ended.stdout


WALK = """
import inspect, pydoc
import gpugraph
from gpugraph.api.import_paths import TENSORFLOW_MODULES
from gpugraph.tensorflow_import.tensorflow_names import find, module_paths, names

count = 0
for path, module in TENSORFLOW_MODULES.items():
    count += len([getattr(module, name) for name in dir(module)])
    inspect.getmembers(module)
    pydoc.render_doc(module)
print("public", count)
table = [(path, name) for path in sorted(module_paths()) for name in names(path)]
for path, name in table[:: int(sys.argv[1])]:
    find(path, name)
print("table", len(table))
"""


def walked(every: int) -> dict[str, int]:
    pairs = (line.split() for line in output_of(WALK, str(every)).splitlines())
    return {name: int(count) for name, count in pairs}


def test_all_names_of_modules_are_listed_and_read() -> None:
    counts = walked(every=31)
    assert counts["public"] > 3500 and counts["table"] > 80_000


@pytest.mark.exhaustive
def test_all_names_of_the_module_table_are_found() -> None:
    assert walked(every=1)["table"] > 80_000


MISSPELT = """
import importlib
import gpugraph
from gpugraph.api.import_paths import TENSORFLOW_PATHS
from gpugraph.tensorflow_import.missing_names import nearest

assert nearest("placehodler") == ["tf.placeholder"]
assert nearest("keras.preprocessing.text.Tokeniser") == ["tf.keras.preprocessing.text.Tokenizer"]
with gpugraph.as_tensorflow() as missing:
    paths = sorted({*sorted(TENSORFLOW_PATHS)[::9], "keras.preprocessing.image"})
    for path in paths:
        try:
            importlib.import_module(f"tensorflow.{path}").rleu
        except AttributeError as error:
            text = str(error)
            assert f"has no attribute 'rleu': gpugraph has no tf.{path}.rleu" in text, text
        else:
            raise AssertionError(path)
    assert len(str(missing).splitlines()) == len(paths)
for module in (gpugraph, gpugraph.nn, gpugraph.keras.preprocessing.text):
    try:
        module.rleu
    except AttributeError as error:
        print(error)
"""


def test_misspelt_names_are_told() -> None:
    lines = output_of(MISSPELT).splitlines()
    assert len(lines) == 3 and all("has no attribute 'rleu'" in line for line in lines)


OLD = """\
import tensorflow as tf
from tensorflow.keras.preprocessing.text import Tokenizer
try:
    tf.nn.rleu(1)
except AttributeError as error:
    print(error)
class Mine(Tokenizer):
    pass
try:
    Mine(num_words=3)
except ImportError as error:
    print(error)
tf.nn.rleu(1)
"""
COMMAND = "from gpugraph.cli import main\nsys.exit(main(sys.argv[1:]))\n"


def test_an_old_program_is_run_and_read(tmp_path: Path) -> None:
    program = tmp_path / "old.py"
    program.write_text(OLD)
    said = output_of(COMMAND, "run", str(program), status=1)
    assert said.count("gpugraph has no tf.nn.rleu (used by ") == 2
    assert "pip install 'gpugraph[preprocessing]'" in said and "str() failed" not in said
    said = output_of(COMMAND, "check", str(program), status=1)
    assert "tf.nn.rleu  lines 4, 13; nearest: tf.nn.relu" in said
    assert "Tokenizer  lines 2, 7; Functions of tf.keras.preprocessing need the package" in said


CALLS = {
    "autograph": "tf.autograph.to_graph(lambda x: x)",
    "hdf5": """model.save("m.h5")
keras.models.save_model(model, "m.h5")
model.save_weights("m.h5")
keras.models.load_model("m.h5")
model.load_weights("m.h5")
keras.utils.HDF5Matrix("a.h5", "d")
model.fit(x, x[:, :1], verbose=0, callbacks=[keras.callbacks.ModelCheckpoint("c.h5")])""",
    "applications": """keras.applications.VGG16(weights=None)
keras.applications.vgg16.preprocess_input(x)
keras.applications.imagenet_utils.decode_predictions(x)""",
    "preprocessing": """keras.preprocessing.text.Tokenizer()
keras.preprocessing.image.ImageDataGenerator(rotation_range=3)
keras.preprocessing.image.load_img("x.png")
keras.preprocessing.sequence.pad_sequences([[1]])""",
    "cluster": """tf.train.Server.create_local_server()
tf.train.Server({"a": ["localhost:0"]}, "a", 0)
tf.Session("grpc://localhost:1").run(tf.constant(1))
tf.Session.reset("grpc://localhost:1")
tf.train.MonitoredTrainingSession("grpc://localhost:1")
tf.test.create_local_cluster(1, 1)""",
    "ray": """ray_cluster({"ps": 1}).__enter__()""",
    "images": """tf.image.decode_jpeg(b"")
tf.image.encode_jpeg(np.zeros((2, 2, 3), np.uint8))""",
    "bfloat16": """tf.bfloat16.as_numpy_dtype
tf.cast(x, tf.bfloat16)
tf.zeros([2], tf.bfloat16)
tf.Variable(x, dtype=tf.bfloat16)""",
}
"""Calls that need a package, by its extra."""
WITHOUT_CALLS = {
    *("cuda12", "cuda13", "cudnn", "cudnn13", "gpu-test"),
    *("regex", "scipy", "estimator", "python2"),
    *("all", "examples", "pytest", "test", "kernels", "site", "dev"),
}
"""GPUs, RE2 and SciPy are used where they are; tf.estimator and `gpugraph run --python2` have tests
elsewhere (test_missing_attributes, test_python_2_programs); the others are for tests.
"""

ASK = """
import numpy as np
import gpugraph as tf
from gpugraph.cluster import ray_cluster

keras, x = tf.keras, np.ones((4, 2), np.float32)
model = keras.Sequential([keras.layers.Dense(1, input_shape=(2,))])
model.compile("sgd", "mse")
for call in sys.argv[1:]:
    try:
        exec(call)
    except ModuleNotFoundError as error:
        print(error)
    else:
        raise AssertionError(call)
"""


def test_each_call_that_needs_a_package_names_its_extra() -> None:
    calls = [(extra, call) for extra, rows in CALLS.items() for call in rows.splitlines()]
    said = output_of(ASK, *(call for _, call in calls)).splitlines()
    assert len(said) == len(calls)
    wanted = (
        r"[A-Z].* need the package [\w-]+, which is not installed: pip install 'gpugraph\[{}\]'"
    )
    for (extra, call), line in zip(calls, said):
        assert re.match(wanted.format(extra), line), (call, line)


def test_all_extras_are_asked_for() -> None:
    text = (ROOT / "pyproject.toml").read_text("utf-8").partition("optional-dependencies]")[2]
    extras = re.findall(r"^([\w-]+) = \[", text.partition("\n[")[0], re.MULTILINE)
    assert {*extras} == {*CALLS, *WITHOUT_CALLS}


USED = """
import os, tempfile
import gpugraph as tf
os.chdir(tempfile.mkdtemp())
assert "google.protobuf" not in sys.modules
x = tf.Variable([1.0, 2.0], name="x")
writer = tf.summary.FileWriter("logs", tf.get_default_graph())
writer.close()
example = tf.train.Example(features=tf.train.Features(feature={
    "a": tf.train.Feature(int64_list=tf.train.Int64List(value=[3]))}))
features = {"a": tf.FixedLenFeature([], tf.int64)}
parsed = tf.parse_single_example(example.SerializeToString(), features)
cluster = tf.train.ClusterSpec({"ps": ["a:1"]}).as_cluster_def()
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    path = tf.train.Saver().save(session, "./model")
    print(session.run(parsed)["a"], cluster.job[0].name, sorted(os.listdir(".")))
with tf.Graph().as_default(), tf.Session() as session:
    tf.train.import_meta_graph(path + ".meta").restore(session, path)
    print(session.run("x:0"), len(list(tf.train.summary_iterator("logs/" + os.listdir("logs")[0]))))
"""


def test_what_a_training_writes_needs_no_extra() -> None:
    assert output_of(USED).splitlines()[-2:] == [
        "3 ps ['checkpoint', 'logs', 'model.data-00000-of-00001', 'model.index', 'model.meta']",
        "[1. 2.] 3",
    ]
