"""A compiler or a cache that does not work: the program runs without it and warns once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gpugraph.devices.codegen.c_compiler import compiler

pytestmark = pytest.mark.skipif(bool(compiler().reason), reason=compiler().reason)

PROGRAM = """
import numpy as np, gpugraph as tf
x = tf.placeholder(tf.float32, [20, 30])
w = tf.Variable(tf.ones([30, 4]) * 0.1)
loss = tf.reduce_mean(tf.square(tf.tanh(tf.matmul(x, w)) - 0.3))
train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
count = tf.while_loop(lambda i, a: i < 9, lambda i, a: (i + 1, a * 1.5), [0, 1.0])[1]
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(5):
        found = session.run([loss, train, count], {x: np.ones([20, 30])})
print(round(float(found[0]), 5), round(float(found[2]), 5))
"""


def run(tmp_path: Path, **environment: str) -> tuple[str, list[str]]:
    """Return the output of the program, and its warnings."""
    root = str(Path(__file__).resolve().parents[3])
    settings = {
        "PYTHONPATH": root,
        "GPUGRAPH_NATIVE": "wait",
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        **environment,
    }
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", PROGRAM],
        capture_output=True,
        text=True,
        env={**os.environ, **settings},
        check=True,
    )
    return done.stdout, [line for line in done.stderr.splitlines() if "RuntimeWarning" in line]


def script(tmp_path: Path, text: str) -> str:
    path = tmp_path / "cc"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture(scope="module")
def plain(tmp_path_factory) -> str:
    answer, messages = run(tmp_path_factory.mktemp("plain"), GPUGRAPH_NATIVE="0")
    assert messages == []
    return answer


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("echo 'fatal error: math.h: No such file' >&2; exit 1", "math.h: No such file"),
        ("exit 3", "failed (3)"),
        (
            'while [ "$1" != -o ]; do shift; done; echo nonsense > "$2"',
            "nonsense|invalid ELF|short",
        ),
        (
            f'while [ "$1" != -o ]; do shift; done; echo "int gg_other;" | '
            f'{compiler().path} -shared -x c - -o "$2"',
            "makes a library of another source",
        ),
        ("exec cat /dev/zero", "wrote more than 16 MiB and was stopped; it is not called again"),
    ],
)
def test_one_that_fails(tmp_path, plain, text, why):
    answer, messages = run(tmp_path, GPUGRAPH_CC=script(tmp_path, text))
    assert answer == plain
    assert len(messages) >= 1
    assert len(messages) == len(set(messages)), "each reason once"
    assert any(part in line for line in messages for part in why.split("|"))


def test_one_that_hangs_delays_nothing(tmp_path, plain):
    answer, messages = run(tmp_path, GPUGRAPH_NATIVE="", GPUGRAPH_CC=script(tmp_path, "sleep 30"))
    assert answer == plain
    assert messages == []


def test_none_at_all(tmp_path, plain):
    assert run(tmp_path, GPUGRAPH_CC="/nowhere/cc") == (plain, [])


def test_a_cache_that_can_not_be_used(tmp_path, plain):
    (tmp_path / "cache").write_text("a file")
    answer, messages = run(tmp_path)
    assert answer == plain
    assert len(messages) == 1
    assert "cache" in messages[0]


@pytest.fixture(scope="module")
def filled(tmp_path_factory, plain) -> Path:
    """A cache of sound code."""
    folder = tmp_path_factory.mktemp("filled")
    assert run(folder) == (plain, [])
    return folder / "cache"


def copied(filled: Path, tmp_path: Path) -> list[Path]:
    """Return the entries of a copy of the cache."""
    shutil.copytree(filled, tmp_path / "cache")
    objects = sorted(path for path in (tmp_path / "cache").rglob("*") if path.is_file())
    assert len(objects) > 1
    return objects


def test_a_cache_of_damaged_objects(tmp_path, plain, filled):
    for path in copied(filled, tmp_path):
        path.write_bytes(path.read_bytes()[:100])
    assert run(tmp_path) == (plain, [])


def test_a_cache_of_entries_under_others_names(tmp_path, plain, filled):
    objects = copied(filled, tmp_path)
    contents = [path.read_bytes() for path in objects]
    for path, content in zip(objects, [*contents[1:], contents[0]]):
        path.write_bytes(content)
    assert run(tmp_path) == (plain, [])
    assert [path.read_bytes()[-32:] for path in objects] == [kept[-32:] for kept in contents]


def test_a_cache_that_others_may_write(tmp_path, plain, filled):
    copied(filled, tmp_path)
    (tmp_path / "cache").chmod(0o777)
    answer, messages = run(tmp_path)
    assert answer == plain
    assert len(messages) == 1
    assert "cache can be written by others (mode 777)" in messages[0]
