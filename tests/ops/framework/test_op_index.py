"""The index of op types: each module's declarations, and that it is imported when it is needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import gpugraph as tf

ROOT = Path(__file__).resolve().parents[3]


def fresh(program: str) -> list[str]:
    """Return the output of a program in a separate process."""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_the_index_is_what_the_modules_declare() -> None:
    command = [sys.executable, "ci/op_index.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "needed",
    [
        "tf.Graph().create_op('Svd', [], [tf.float32]) if False else tf.raw_ops.Svd",
        "tf.import_graph_def(tf.GraphDef(node=[dict(name='a', op='NoOp')]))",
        "tf.gradients(tf.matmul(x, x), x)",
        "x[0] + 1",
        "tf.stack([x, x])",
        "tf.convert_to_tensor([x, x])",
        "tf.convert_to_tensor(tf.IndexedSlices(x, [0, 1], [4, 2]))",
        "tf.Session().run(tf.nn.moments(x, [0]))",
    ],
)
def test_a_program_gets_what_it_needs(needed: str) -> None:
    fresh(f"import gpugraph as tf\nx = tf.ones([2, 2])\n{needed}")


def test_importing_loads_no_op_and_a_name_its_module() -> None:
    program = """
import sys, gpugraph as tf
print(any(name.startswith("gpugraph.ops.") for name in sys.modules))
print("numpy" in sys.modules)
tf.placeholder
print("gpugraph.ops.linalg.matmul" in sys.modules)
tf.matmul
print("gpugraph.ops.linalg.matmul" in sys.modules, "gpugraph.library.keras" in sys.modules)
print("Svd" in dir(tf.raw_ops))
"""
    assert fresh(program) == ["False", "False", "False", "True", "False", "True"]


def test_a_kernel_of_an_op_that_is_not_loaded_is_beside_its_own() -> None:
    program = """
import gpugraph as tf
tf.register_kernel("Neg", "CPU", tf.Call(lambda x, out: out.fill(7)), priority=1)
with tf.Session() as session:
    print(session.run(-tf.placeholder_with_default(1.0, [])))
"""
    assert fresh(program) == ["7.0"]


def test_all_op_types_are_listed() -> None:
    assert len(dir(tf.raw_ops)) > 650


def test_a_graph_from_a_file_gets_its_queue_runners(tmp_path: Path) -> None:
    path = tmp_path / "graph.meta"
    write = f"tf.train.batch([tf.ones([2])], 2); tf.train.export_meta_graph(r'{path}')"
    fresh(f"import gpugraph as tf\n{write}")
    program = f"""
import gpugraph as tf
tf.train.import_meta_graph(r"{path}")
print(type(tf.get_collection("queue_runners")[0]).__name__)
with tf.train.MonitoredSession() as session:
    print(session.run("batch:0").sum())
"""
    assert fresh(program) == ["QueueRunner", "4.0"]


def test_an_operation_is_made_of_a_message_first() -> None:
    fresh("import gpugraph as tf\ntf.Operation(tf.NodeDef(name='a', op='NoOp'), tf.Graph())")


def test_star_imports_have_public_names() -> None:
    fresh("from gpugraph import *\nassert (keras, config, train, VERSION, GraphKeys)")
    fresh(
        "import gpugraph\nwith gpugraph.as_tensorflow():\n"
        "    for module in ('', '.train', '.python.framework.ops'):\n"
        "        exec(f'from tensorflow{module} import *')\n"
    )


def test_private_attributes_are_there_whatever_is_imported_first() -> None:
    program = "from gpugraph.nn import relu\nprint(relu([1.0]).op._control_outputs)"
    assert fresh(program) == ["[]"]


THREADS = """
import sys, threading
import gpugraph as tf

sys.setswitchinterval(1e-5)
NAMES = (
    "nn.rnn_cell.LSTMCell layers.dense keras.layers.Dense contrib.rnn.LSTMCell train.Saver "
    "contrib.layers.fully_connected contrib.slim.conv2d gradients Session losses.log_loss"
).split()
faults, barrier = [], threading.Barrier(len(NAMES))

def touch(path):
    barrier.wait()
    try:
        value = tf
        for name in path.split("."):
            value = getattr(value, name)
    except BaseException as error:
        faults.append((path, error))

threads = [threading.Thread(target=touch, args=[path]) for path in NAMES]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not faults, faults
"""


def test_threads_may_ask_for_names_at_the_same_time() -> None:
    fresh(THREADS)
