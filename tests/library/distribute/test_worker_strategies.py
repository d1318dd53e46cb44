"""Strategies over processes: workers with equal copies, and a parameter server."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpugraph as tf

from .worker_program import train

ROOT = Path(__file__).resolve().parents[3]
pytest.importorskip("grpc")


def free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def started(stack: ExitStack, config: dict[str, Any], strategy: str, steps: int = 5) -> Any:
    command = [sys.executable, "-m", "tests.library.distribute.worker_program"]
    process = stack.enter_context(
        subprocess.Popen(
            [*command, json.dumps(config), strategy, str(steps)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
    )
    stack.callback(process.kill)
    return process


def expected(steps: int = 5) -> list[float]:
    return train(tf.distribute.get_strategy(), "", steps)


@pytest.mark.parametrize("count", [2, 4])
def test_workers_train_as_one_device_does(count: int) -> None:
    cluster = {"worker": [f"127.0.0.1:{port}" for port in free_ports(count)]}
    with ExitStack() as stack:
        workers = []
        for number in range(count):
            config = {"cluster": cluster, "task": {"type": "worker", "index": number}}
            workers.append(started(stack, config, "MultiWorkerMirroredStrategy"))
        results = [json.loads(worker.communicate(timeout=110)[0]) for worker in workers]
    for losses in results:
        np.testing.assert_allclose(losses, expected(), 1e-5)


def test_variables_are_on_a_parameter_server() -> None:
    ports = free_ports(2)
    cluster = {"ps": [f"127.0.0.1:{ports[0]}"], "worker": [f"127.0.0.1:{ports[1]}"]}
    with ExitStack() as stack:
        config = {"cluster": cluster, "task": {"type": "ps", "index": 0}}
        server = started(stack, config, "ParameterServerStrategy")
        assert server.stdout.readline() == "ready\n"
        config = {"cluster": cluster, "task": {"type": "worker", "index": 0}}
        worker = started(stack, config, "ParameterServerStrategy")
        losses = json.loads(worker.communicate(timeout=110)[0])
    np.testing.assert_allclose(losses, expected(), 1e-5)


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 0}}, "`ps` jobs"),
        ({"cluster": {"ps": ["a:1"]}}, "must also specify"),
        ({"cluster": {"ps": ["a:1"]}, "task": {"type": "worker", "index": 0}}, "not found"),
        (
            {"cluster": {"ps": ["a:1"], "worker": ["b:1"]}, "task": {"type": "worker", "index": 3}},
            "exceeds the maximum id of worker. The maximum is 0: the cluster .of TF_CONFIG",
        ),
        *(
            (
                {"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": index}},
                "number of a task must be an integer",
            )
            for index in (0.5, -1, True, [0])
        ),
        (
            {
                "cluster": {"ps": ["a:1"], "worker": ["b:1", "a:1"]},
                "task": {"type": "ps", "index": 0},
            },
            "address 'a:1': /job:ps/task:0 and /job:worker/task:1",
        ),
        ([1], "must be a JSON object"),
    ],
)
def test_malformed_clusters_are_refused(
    monkeypatch: pytest.MonkeyPatch, config: Any, words: str
) -> None:
    monkeypatch.setenv("TF_CONFIG", json.dumps(config))
    with pytest.raises(ValueError, match=words):
        tf.distribute.experimental.ParameterServerStrategy()


def test_text_that_is_no_json_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_CONFIG", "{cluster")
    with pytest.raises(ValueError, match="TF_CONFIG is no JSON"):
        tf.distribute.experimental.MultiWorkerMirroredStrategy()
    with pytest.raises(ValueError, match="TF_CONFIG is no JSON"):
        tf.contrib.distribute.run_standard_tensorflow_server()
