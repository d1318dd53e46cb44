"""Environment variables: their valid values, their defaults, and the page that lists them."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

import gpugraph as tf
from gpugraph.config.environment import (
    VARIABLES,
    is_on,
    seconds,
    setting,
    thread_count,
    whole_number,
)

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", VARIABLES)
def test_unset_and_empty_are_the_default(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(name, raising=False)
    assert setting(name) == VARIABLES[name].default
    monkeypatch.setenv(name, "")
    assert setting(name) == VARIABLES[name].default


@pytest.mark.parametrize("name", [name for name in VARIABLES if VARIABLES[name].values])
def test_values_are_checked(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for value in VARIABLES[name].values:
        monkeypatch.setenv(name, value)
        assert setting(name) == value
        assert is_on(name) == (value == "1")
    monkeypatch.setenv(name, "yes")
    with pytest.raises(tf.errors.InvalidArgumentError, match=rf"{name} is 'yes'; possible are: "):
        setting(name)


@pytest.mark.parametrize("value", ["off", "OFF", "false", "no", "00"])
def test_native_code_is_never_on_for_another_word(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUGRAPH_NATIVE", value)
    with tf.Graph().as_default(), tf.Session() as session:
        y = tf.tanh(tf.constant([1.0, 2.0])) * 2.0
        message = f"GPUGRAPH_NATIVE is '{value}'; possible are: 0 "
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            session.run(y)


def test_other_variables_are_taken_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUGRAPH_CC", "clang-14")
    assert setting("GPUGRAPH_CC") == "clang-14"
    with pytest.raises(KeyError):
        setting("PATH")


@pytest.mark.parametrize("value", ["0", "-1", "two", "1.5"])
def test_a_number_of_threads_is_positive(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUGRAPH_THREADS", "3")
    assert thread_count() == 3
    monkeypatch.setenv("GPUGRAPH_THREADS", value)
    with pytest.raises(tf.errors.InvalidArgumentError, match="GPUGRAPH_THREADS is"):
        thread_count()
    monkeypatch.delenv("GPUGRAPH_THREADS")
    assert 1 <= thread_count() <= (os.cpu_count() or 1)


@pytest.mark.parametrize("value", ["-1", "inf", "nan", "abc", "1e10"])
def test_a_time_is_a_number_of_seconds(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "GPUGRAPH_SESSION_GC"
    for possible in ("0", "0.5", "1e3"):
        monkeypatch.setenv(name, possible)
        assert seconds(name) == float(possible)
    monkeypatch.setenv(name, value)
    message = f"{name} is '{value}'; it must be a number of seconds, 0 or more. Unset it is 300."
    with pytest.raises(tf.errors.InvalidArgumentError) as raised:
        seconds(name)
    assert raised.value.message == message


@pytest.mark.parametrize("value", ["", "0", "4096", "-1", "1e6", "8 MiB", "²"])
def test_a_size_is_a_number_of_bytes(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "GPUGRAPH_COLLECTIVE_BUCKET"
    monkeypatch.setenv(name, value)
    if value in ("", "0", "4096"):
        assert whole_number(name, "bytes") == int(value or 8 << 20)
        return
    message = f"{name} is '{value}'; it must be a number of bytes, 0 or more. Unset it is 8388608."
    with pytest.raises(tf.errors.InvalidArgumentError) as raised:
        whole_number(name, "bytes")
    assert raised.value.message == message


@pytest.mark.parametrize("name", VARIABLES)
def test_the_page_lists_it(name: str) -> None:
    rows = (ROOT / "docs" / "switches.md").read_text("utf-8").splitlines()
    (row,) = [row for row in rows if row.startswith(f"| `{name}` |")]
    variable = VARIABLES[name]
    for value, meaning in variable.values.items():
        assert f"`{value}`: {meaning}" in row
    assert row.endswith(f"| `{variable.default}` |" if variable.default else "|  |")
    assert variable.meaning in row


def test_no_other_file_reads_the_environment() -> None:
    readers = [
        str(path.relative_to(ROOT))
        for path in (ROOT / "gpugraph").rglob("*.py")
        if re.search(r"environ(\.get|\[)|getenv", path.read_text("utf-8"))
    ]
    assert readers == ["gpugraph/config/environment.py"]
