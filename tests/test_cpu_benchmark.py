"""The rows of benchmarks/cpu.py in small sizes: they build, learn, and agree."""

from __future__ import annotations

import importlib
import math
import sys
from pathlib import Path

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.devices.codegen import c_compiler

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))
cpu, peers, peers_table, onnx_text = map(
    importlib.import_module, ("cpu", "peers", "peers_table", "onnx_text")
)
ROWS = cpu.rows(cpu.TINY)
OWN = [(row, column) for row in ROWS for column in ROWS[row] if column.startswith("gpugraph")]
TRAINED = [row for row in ROWS if row.endswith("step")]


def results(row, column):
    with tf.Graph().as_default():
        return peers.results_of(ROWS[row][column]())


@pytest.mark.parametrize(("row", "column"), OWN)
def test_a_row_gives_finite_numbers(row, column, monkeypatch):
    for name, value in peers.COLUMNS[column].settings.items():
        monkeypatch.setenv(name, value)
    arrays = results(row, column)
    assert all(np.isfinite(array).all() for array in arrays)
    assert bool(arrays) == (row != "building one op")


@pytest.mark.parametrize("row", [row for row in ROWS if "numpy" in ROWS[row]])
def test_what_is_written_by_hand_gives_the_same(row):
    assert peers.difference(results(row, "numpy"), results(row, "gpugraph")) < 1e-6


@pytest.mark.parametrize("row", TRAINED)
def test_a_training_step_makes_the_loss_smaller(row):
    first, second, third = results(row, "gpugraph")
    assert first > second > third > 0


def test_every_kind_of_training_is_there():
    assert len(TRAINED) == 6


def test_a_graph_of_small_ops_has_as_many_as_it_says():
    kinds = {"MatMul", "Mul", "Add", "Sub", "Tanh", "Sigmoid", "Mean", "Maximum"}
    with tf.Graph().as_default() as graph:
        importlib.import_module("cpu_graph").built(tf, cpu.Mixed(50))
        op_types = [
            operation.type for operation in graph.get_operations() if operation.type in kinds
        ]
    assert len(op_types) == 50 and set(op_types) == kinds


def test_ratios_are_to_the_best_peer():
    times = {"gpugraph": 2.0, "gpugraph, NumPy": 0.1, "jax": 6.0, "torch": 4.0, "numpy": 1.0}
    assert peers_table.ratio(times, by_hand=True) == 0.5
    assert peers_table.ratio(times, by_hand=False) == 2.0
    assert peers_table.best(times, by_hand=True) == "numpy"
    assert peers_table.best(times, by_hand=False) == "torch"
    assert peers_table.ratio({"gpugraph": 2.0}, by_hand=True) == 0.0
    assert peers_table.ratio({"jax": 2.0}, by_hand=True) == 0.0


def test_the_mean_of_ratios_leaves_out_rows_without_one():
    assert math.isclose(peers_table.geometric_mean([0.5, 0.0, 8.0]), 2.0)


def test_the_table_says_times_and_ratios(capsys):
    record = {"us": 2000.0, "build_ms": 1.0, "peak_mb": 50.0}
    peers_table.show({"a row": {"gpugraph": record, "jax": {**record, "us": 3000.0}}})
    lines = capsys.readouterr().out.splitlines()
    assert [cell.strip() for cell in lines[2].split("|")[1:-1]] == [
        *("a row", "2 ms", "3 ms", "jax 1.50", "jax 1.50")
    ]
    assert "50" in lines[-2]


def test_rows_that_differ_are_told_apart():
    one = np.ones(3, np.float32)
    assert peers.difference([one], [one * 2]) == 0.5
    assert peers.difference([one], [one, one]) == math.inf


def test_a_model_is_written_as_protocol_buffers():
    # field 1 (150), field 2 ("testing"): the examples of the encoding's own description
    assert onnx_text.field(1, 150) == bytes.fromhex("089601")
    assert onnx_text.field(2, "testing") == bytes.fromhex("120774657374696e67")
    model = onnx_text.Model()
    text = model.bytes(model.op("Neg", model.input("x", (2,))), (2,))
    assert b"Neg" in text and text.startswith(b"\x08\x09\x3a")


def test_the_warm_up_ends_with_nothing_left_to_compile(monkeypatch, tmp_path):
    monkeypatch.setattr(peers, "WARM_SECONDS", 0.0)
    monkeypatch.delenv("GPUGRAPH_NATIVE", raising=False)
    compiler = c_compiler.Compiler(folder=tmp_path)
    monkeypatch.setattr(c_compiler, "compiler", lambda: compiler)
    if compiler.reason:
        pytest.skip(compiler.reason)
    started = []

    def step():
        if not started:
            started.append(compiler.start("int gg_slow;\n", "what a step asks for"))

    peers.warm_up(step, native=True)
    assert started[0].done and started[0].library is not None
    compiler.close()
