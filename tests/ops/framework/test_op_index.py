"""The index of op types: what each module declares, and that it is imported when it is needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import gpugraph as tf

ROOT = Path(__file__).resolve().parents[3]


def fresh(program: str) -> list[str]:
    """What a program prints in a process of its own."""
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
print("gpugraph.ops.linalg.matmul" in sys.modules, "gpugraph.keras" in sys.modules)
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
