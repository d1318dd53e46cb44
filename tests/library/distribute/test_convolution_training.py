"""A convolutional network trains equally on one device, several devices and several processes."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from .convolution_program import train
from .test_worker_strategies import ROOT, free_ports

KINDS = ("keras", "loop")


def expected(by: str, steps: int = 4, **settings: Any) -> list[float]:
    """Return the losses of one device."""
    return train({"by": by, "steps": steps, **settings})


def in_processes(count: int, trainings: list[dict[str, Any]]) -> list[Any]:
    """Run trainings in worker processes; return the results of each worker."""
    cluster = {"worker": [f"127.0.0.1:{port}" for port in free_ports(count)]}
    command = [sys.executable, "-m", "tests.library.distribute.convolution_program"]
    with ExitStack() as stack:
        workers = []
        for number in range(count):
            config = {"cluster": cluster, "task": {"type": "worker", "index": number}}
            settings = json.dumps({"TF_CONFIG": config, "trainings": trainings})
            process = subprocess.Popen(
                [*command, settings], cwd=ROOT, stdout=subprocess.PIPE, text=True
            )
            stack.enter_context(process)
            stack.callback(process.kill)
            workers.append(process)
        return [json.loads(worker.communicate(timeout=200)[0]) for worker in workers]


@pytest.mark.parametrize("by", KINDS)
def test_virtual_gpus_give_the_losses_and_checkpoints_of_one_device(
    tmp_path: Path, by: str
) -> None:
    suffix = ".h5" if by == "keras" else ""
    losses = expected(by, save=str(tmp_path / f"one{suffix}"))
    assert losses[-1] < losses[0]
    following = expected(by, restore=str(tmp_path / f"one{suffix}"))
    for gpus in (2, 4, 8):
        path = str(tmp_path / f"{gpus}{suffix}")
        np.testing.assert_allclose(expected(by, gpus=gpus, save=path), losses, 1e-5)
        np.testing.assert_allclose(expected(by, restore=path), following, 1e-5)
        path = str(tmp_path / f"one{suffix}")
        np.testing.assert_allclose(expected(by, gpus=gpus, restore=path), following, 1e-5)


@pytest.mark.parametrize("count", [2, pytest.param(4, marks=pytest.mark.exhaustive)])
def test_processes_give_the_losses_and_checkpoints_of_one_device(
    tmp_path: Path, count: int
) -> None:
    pytest.importorskip("grpc")
    trainings: list[dict[str, Any]] = []
    losses: list[Any] = []
    for by in KINDS:
        suffix = ".h5" if by == "keras" else ""
        one, several = (str(tmp_path / f"{by}{number}{suffix}") for number in (1, count))
        losses.append(expected(by, save=one))
        losses.append(expected(by, restore=one))
        trainings.append({"by": by, "steps": 4, "save": several})
        trainings.append({"by": by, "steps": 4, "restore": one})
    for results in in_processes(count, trainings):
        np.testing.assert_allclose(results, losses, 1e-5)
    for by, following in zip(KINDS, losses[1::2]):
        suffix = ".h5" if by == "keras" else ""
        path = str(tmp_path / f"{by}{count}{suffix}")
        np.testing.assert_allclose(expected(by, restore=path), following, 1e-5)
