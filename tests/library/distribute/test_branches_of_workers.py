"""Models with branches and loops (dropout, batch normalization, LSTM), trained by two processes."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import ExitStack

import numpy as np
import pytest

import gpugraph as tf

from .branch_program import results
from .test_worker_strategies import ROOT, free_ports

pytest.importorskip("grpc")


@pytest.mark.parametrize("seeds", [2, pytest.param(60, marks=pytest.mark.exhaustive)])
def test_two_processes_train_as_one_with_two_replicas(seeds: int) -> None:
    cluster = {"worker": [f"127.0.0.1:{port}" for port in free_ports(2)]}
    command = [sys.executable, "-m", "tests.library.distribute.branch_program"]
    with ExitStack() as stack:
        workers = []
        for number in range(2):
            task = {"cluster": cluster, "task": {"type": "worker", "index": number}}
            worker = subprocess.Popen(
                [*command, json.dumps(task), str(seeds)],
                cwd=ROOT,
                stdout=subprocess.PIPE,
                text=True,
            )
            stack.callback(worker.wait)
            stack.callback(worker.kill)
            workers.append(worker)
        try:
            expected = results(tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"]), "", seeds)
        finally:
            tf.keras.backend.clear_session()
        got = [json.loads(worker.communicate(timeout=110 + 20 * seeds)[0]) for worker in workers]
    assert expected["restored"] == [5.0, 7.0] * 3
    for found in got:
        assert found.keys() == expected.keys()
        for name, values in expected.items():
            np.testing.assert_allclose(found[name], values, 1e-5, 1e-6, err_msg=name)
