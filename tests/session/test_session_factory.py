"""The registry of session factories."""

from __future__ import annotations

import gc
import logging
from collections.abc import Iterator
from typing import Any

import pytest

import gpugraph as tf
from gpugraph.session import SessionBackend, SessionFactory
from gpugraph.session.direct_session import DirectSession


class Prefixed:
    """Accepts targets of a prefix; its sessions are this process's."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix

    def accepts_options(self, options: tf.SessionOptions) -> bool:
        return options.target.startswith(self.prefix)

    def new_session(self, options: tf.SessionOptions) -> SessionBackend:
        return DirectSession(options)


@pytest.fixture
def registered() -> Iterator[Prefixed]:
    factory = Prefixed("toy://")
    SessionFactory.register("TOY_SESSION", factory)
    yield factory
    SessionFactory.unregister("TOY_SESSION")


def test_the_factory_that_accepts_the_target_makes_the_session(registered: Prefixed) -> None:
    assert SessionFactory.get_factory(tf.SessionOptions("toy://a")) is registered
    assert SessionFactory.get_factory(tf.SessionOptions()) is not registered
    with tf.Graph().as_default(), tf.Session("toy://a") as session:
        assert session.sess_str == "toy://a"
        assert session.run(tf.constant(1.0)) == 1


@pytest.mark.parametrize("made", [None, object()], ids=["nothing", "something else"])
def test_a_factory_that_makes_no_session_is_named(
    registered: Prefixed, monkeypatch: Any, made: Any
) -> None:
    monkeypatch.setattr(registered, "new_session", lambda options: made)
    with tf.Graph().as_default(), pytest.raises(tf.errors.InternalError) as caught:
        tf.Session("toy://a")
    assert 'Prefixed.new_session returned no SessionBackend for the target "toy://a"' in str(
        caught.value
    )
    assert repr(made) in str(caught.value)
    caught = None  # type: ignore[assignment]
    gc.collect()  # a finalizer that fails is an error here


def test_none_that_accepts_is_not_found(registered: Prefixed) -> None:
    with pytest.raises(tf.errors.NotFoundError) as caught:
        tf.Session("toy:elsewhere")
    assert 'target: "toy:elsewhere"' in caught.value.message
    assert "DIRECT_SESSION, GRPC_SESSION, TOY_SESSION" in caught.value.message


def test_several_that_accept_are_an_internal_error(registered: Prefixed) -> None:
    SessionFactory.register("OTHER_TOY", Prefixed("toy"))
    try:
        with pytest.raises(tf.errors.InternalError, match="OTHER_TOY, TOY_SESSION"):
            tf.Session("toy://a")
    finally:
        SessionFactory.unregister("OTHER_TOY")


def test_a_second_of_one_type_is_logged_and_ignored(registered: Prefixed, caplog: Any) -> None:
    with caplog.at_level(logging.ERROR, "gpugraph"):
        SessionFactory.register("TOY_SESSION", Prefixed("other"))
    assert "TOY_SESSION" in caplog.text
    assert SessionFactory.get_factory(tf.SessionOptions("toy://")) is registered


def test_what_is_not_registered_can_not_be_forgotten() -> None:
    with pytest.raises(tf.errors.NotFoundError, match="NO_SUCH"):
        SessionFactory.unregister("NO_SUCH")
