"""Checks of compose.yaml without an engine: its tasks are those of one cluster."""

from __future__ import annotations

import argparse
import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import pytest

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
tomllib = pytest.importorskip("tomllib", reason="Python 3.10 reads no TOML")
pytest.importorskip("sklearn", reason="the examples' data set is not installed")

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    return yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))["services"]


def parsed(command: list[str]) -> argparse.Namespace:
    program, *arguments = command[1:]
    spec = importlib.util.spec_from_file_location("composed_program", ROOT / program)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    options: argparse.Namespace = module.parse_arguments(arguments)
    return options


def test_each_container_is_a_task_of_the_cluster(services: dict[str, Any]) -> None:
    options = {name: parsed(service["command"]) for name, service in services.items()}
    clusters = {json.dumps(option.cluster) for option in options.values()}
    assert len(clusters) == 1
    cluster = json.loads(clusters.pop())
    for name, option in options.items():
        job, _, index = option.task.partition(":")
        assert cluster[job][int(index)].split(":")[0] == name
    assert len(options) == sum(map(len, cluster.values())) == 3


def test_all_have_one_key_which_has_to_be_set(services: dict[str, Any]) -> None:
    keys = {service["environment"]["GPUGRAPH_CLUSTER_KEY"] for service in services.values()}
    assert len(keys) == 1
    assert re.fullmatch(r"\$\{GPUGRAPH_CLUSTER_KEY:\?.+\}", keys.pop())


def test_the_image_has_what_the_program_needs(services: dict[str, Any]) -> None:
    dockerfile = (ROOT / "Dockerfile").read_text("utf-8")
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
        "optional-dependencies"
    ]
    builds = [service["build"] for service in services.values()]
    assert builds == [builds[0]] * 3
    assert f"AS {builds[0]['target']}\n" in dockerfile
    assert {"cluster", "examples"} == set(builds[0]["args"]["EXTRAS"].split()) <= set(extras)
    assert dockerfile.count("ARG EXTRAS\n") == dockerfile.count("${EXTRAS}") == 2
