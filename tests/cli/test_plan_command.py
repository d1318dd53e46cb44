"""`gpugraph plan` forecasts the steps of a program without computing them."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from gpugraph.cli import main
from gpugraph.cli.plan import memory_size

PROGRAM = """
import tensorflow as tf
tf.reset_default_graph()
strategy = tf.distribute.MirroredStrategy()
print("replicas:", strategy.num_replicas_in_sync)
with strategy.scope():
    step = tf.train.get_or_create_global_step()
    def fn():
        x = tf.layers.dense(tf.ones([1024, 16384]), 16384, use_bias=False)
        loss = tf.reduce_sum(x)
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step)
        with tf.control_dependencies([train]):
            return tf.identity(loss)
    total = strategy.reduce("SUM", strategy.experimental_run_v2(fn), axis=None)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    while session.run(step) < 10:  # never true here: the rehearsal ends the program
        session.run(total)
"""


def test_plans_for_more_memory_than_the_machine_has(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    with pytest.raises(SystemExit, match="0"):
        main(["plan", "--gpus", "4", "--memory", "1.5GiB", str(file)])
    out, err = capsys.readouterr()
    assert out.startswith("replicas: 4\n-- step 1: ") and not err
    assert "GPU:1 -> GPU:0: 1, 1.00GiB" in out
    assert "critical path:" in out
    assert "GPU:3: 2.19GiB of 1.50GiB: variables 1.00GiB" in out
    assert "does not fit" in out


WRITES = """
import os
import sys
import tensorflow as tf
x = tf.placeholder(tf.float32, [4])
tf.summary.scalar("sum", tf.reduce_sum(x))
writer = tf.summary.FileWriter(sys.argv[1], tf.get_default_graph())
with tf.Session() as session:
    writer.add_summary(session.run(tf.summary.merge_all(), {x: [0] * 4}), 0)
    saver = tf.train.Saver([tf.Variable(1.0)])
    saver.restore(session, saver.save(session, os.path.join(sys.argv[1], "model.ckpt")))
writer.close()
model = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,))])
model.save(os.path.join(sys.argv[1], "model.h5"))
model.save_weights(os.path.join(sys.argv[1], "weights"), save_format="tf")
tf.train.write_graph(tf.get_default_graph(), sys.argv[1], "graph.pbtxt")
"""


def test_no_files_are_written(tmp_path: Path) -> None:
    """The values of a rehearsal are zeros."""
    pytest.importorskip("h5py")
    (tmp_path / "program.py").write_text(WRITES)
    assert main(["plan", str(tmp_path / "program.py"), str(tmp_path / "logs")]) == 0
    assert not list((tmp_path / "logs").iterdir())


def test_sizes_of_memory() -> None:
    assert memory_size("24GiB") == 24 << 30
    assert memory_size("512") == memory_size("0.5g") == 512 << 20
    assert memory_size("800B") == 800
    with pytest.raises(argparse.ArgumentTypeError, match="24GiB"):
        memory_size("much")


@pytest.mark.parametrize(
    ("given", "gpus", "size", "rest"),
    [
        ("PROGRAM --gpus 2 --memory 3GiB a", 2, "3.00GiB", "['a']"),
        ("--gpus 2 PROGRAM --memory=3GiB --gpus 3", 2, "3.00GiB", "['--gpus', '3']"),
        ("PROGRAM a --gpus 2", 1, "16.00GiB", "['a', '--gpus', '2']"),
        ("PROGRAM --gpus 2 -- --memory 1", 2, "16.00GiB", "['--memory', '1']"),
    ],
)
def test_options_may_follow_the_program(
    given: str, gpus: int, size: str, rest: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "program.py"
    file.write_text(
        "import sys\nimport tensorflow as tf\nprint(sys.argv[1:])\nlast = len([d for d in "
        "tf.Session().list_devices() if d.device_type == 'GPU']) - 1\nwith tf.device(f'/gpu:{last}'"
        "):\n    x = tf.exp(tf.placeholder_with_default([1.0], [1]))\ntf.Session().run(x)\n"
    )
    words = [str(file) if word == "PROGRAM" else word for word in given.split()]
    assert main(["plan", *words]) == 0
    out, err = capsys.readouterr()
    assert out.startswith(f"{rest}\n")
    assert f"\nGPU:{gpus - 1}: " in out and f" of {size}: " in out and ", fits" in out
    assert ("gpugraph: --" in err) == ("PROGRAM --" in given or "PROGRAM a --" in given)


def test_a_wrong_option_behind_the_program_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["plan", str(tmp_path), "--gpus", "none"])
    assert "argument --gpus: it is 1 or more, not 'none'" in capsys.readouterr().err
