"""tf.logging: the output, from which level on, and how often."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

import gpugraph as tf


@pytest.fixture(autouse=True)
def verbosity() -> Iterator[None]:
    before = tf.logging.get_verbosity()
    yield
    tf.logging.set_verbosity(before)


LEVELS = {
    "debug": tf.logging.DEBUG,
    "info": tf.logging.INFO,
    "warn": tf.logging.WARN,
    "warning": tf.logging.WARN,
    "error": tf.logging.ERROR,
    "fatal": tf.logging.FATAL,
}


def test_levels_are_tensorflows() -> None:
    assert list(LEVELS.values()) == [10, 20, 30, 30, 40, 50]
    assert tf.logging.get_verbosity() == tf.logging.WARN


@pytest.mark.parametrize("name", LEVELS)
def test_messages_below_the_verbosity_are_not_written(name: str, capsys: Any) -> None:
    level = LEVELS[name]
    write = getattr(tf.logging, name)
    tf.logging.set_verbosity(level)
    write("%s is %d", "x", 3)
    tf.logging.set_verbosity(level + 1)
    write("unseen")
    shown = logging.getLevelName(level)
    assert capsys.readouterr() == ("", f"{shown}:tensorflow:x is 3\n")


def test_levels_as_arguments(capsys: Any) -> None:
    tf.logging.log(tf.logging.ERROR, "a %s", 1)
    tf.logging.log(tf.logging.DEBUG, "b")
    tf.logging.vlog(tf.logging.WARN, "c")
    tf.logging.log_if(tf.logging.WARN, "d %d", 1 > 0, 4)
    tf.logging.log_if(tf.logging.WARN, "e", False)
    tf.logging.TaskLevelStatusMessage("f")
    tf.logging.flush()
    assert capsys.readouterr().err.splitlines() == [
        "ERROR:tensorflow:a 1",
        "WARNING:tensorflow:c",
        "WARNING:tensorflow:d 4",
        "ERROR:tensorflow:f",
    ]


def test_each_line_counts_its_own_calls(capsys: Any) -> None:
    for step in range(5):
        tf.logging.log_every_n(tf.logging.WARN, "every %d", 2, step)
        tf.logging.log_first_n(tf.logging.WARN, "first %d", 2, step)
        tf.logging.log_every_n(tf.logging.WARN, "other %d", 3, step)
    found = [line.split(":")[2] for line in capsys.readouterr().err.splitlines()]
    assert [each for each in found if "every" in each] == ["every 0", "every 2", "every 4"]
    assert [each for each in found if "first" in each] == ["first 0", "first 1"]
    assert [each for each in found if "other" in each] == ["other 0", "other 3"]


def test_pythons_logger_has_the_callers_line() -> None:
    records: list[logging.LogRecord] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            records.append(record)

    keep = Keep()
    logging.getLogger("tensorflow").addHandler(keep)
    try:
        tf.logging.warn("here")
        tf.logging.log_first_n(tf.logging.WARN, "there", 1)
    finally:
        logging.getLogger("tensorflow").removeHandler(keep)
    assert [record.funcName for record in records] == [
        "test_pythons_logger_has_the_callers_line"
    ] * 2


def test_the_logger_is_pythons() -> None:
    assert tf.get_logger() is logging.getLogger("tensorflow")
