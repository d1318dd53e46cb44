"""ProgressHook draws by tqdm where it is installed, in terminals and notebooks."""

from __future__ import annotations

import io
import sys
from types import ModuleType

import pytest

import gpugraph as tf


class _Bar:
    """The part of tqdm that is used; `bars` lists the instances of the hook, which has a first
    step, without those of compilations.
    """

    bars: list[_Bar]

    def __init__(self, total, unit, file, initial=None, **_):
        self.total, self.n, self.unit, self.file = total, initial or 0, unit, file
        self.texts, self.closed = [], False
        if initial is not None:
            self.bars.append(self)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def set_postfix(self, texts, refresh):
        self.texts.append(texts)

    def update(self, count):
        self.n += count

    def close(self):
        self.closed = True


@pytest.fixture
def _bars(monkeypatch):
    monkeypatch.setattr(_Bar, "bars", [], raising=False)
    for name in ("tqdm", "tqdm.auto"):
        module = ModuleType(name)
        module.tqdm = type(name.title().replace(".", ""), (_Bar,), {})
        monkeypatch.setitem(sys.modules, name, module)
    return _Bar.bars


class _Terminal(io.StringIO):
    def isatty(self):
        return True


def _train(hook, steps=3):
    with tf.Graph().as_default():
        train = tf.assign_add(tf.train.create_global_step(), 1)
        loss = tf.constant(0.5, name="loss")
        hooks = [hook(loss), tf.train.StopAtStepHook(steps)]
        with tf.train.MonitoredSession(hooks=hooks) as session:
            while not session.should_stop():
                session.run(train)


def test_tqdm_draws_in_a_terminal(_bars):
    terminal = _Terminal()
    _train(lambda loss: tf.train.ProgressHook(3, loss, every_secs=0, file=terminal))
    (bar,) = _bars
    assert type(bar).__name__ == "Tqdm"
    assert (bar.total, bar.n, bar.unit, bar.file, bar.closed) == (3, 3, "step", terminal, True)
    assert bar.texts[0] == {"loss": "0.5"}
    assert not terminal.getvalue()


def test_tqdm_draws_a_bar_in_a_notebook(_bars, monkeypatch):
    monkeypatch.setitem(sys.modules, "ipykernel", ModuleType("ipykernel"))
    _train(lambda loss: tf.train.ProgressHook(tensors={"l": loss}, every_secs=0))
    (bar,) = _bars
    assert type(bar).__name__ == "TqdmAuto"
    assert (bar.total, bar.n, bar.file) == (None, 3, None)


def test_a_log_has_lines_though_tqdm_is_there(_bars):
    log = io.StringIO()
    _train(lambda loss: tf.train.ProgressHook(3, loss, every_secs=0, file=log))
    assert not _bars
    assert len(log.getvalue().splitlines()) == 3


def test_tqdm_may_be_missing_unless_it_must_draw(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    terminal = _Terminal()
    _train(lambda loss: tf.train.ProgressHook(3, loss, every_secs=0, file=terminal))
    assert "step 3/3" in terminal.getvalue()
    with pytest.raises(ModuleNotFoundError):
        _train(lambda loss: tf.train.ProgressHook(3, loss, file=terminal, use_tqdm=True))
