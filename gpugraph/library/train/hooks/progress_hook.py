"""ProgressHook, a readable display of a training's progress: the steps, the rate, the loss and the
time left.

TensorFlow has no such hook.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Mapping
from typing import Any, TextIO

import numpy as np

from gpugraph.library.train.global_step import global_step_for
from gpugraph.library.train.hooks.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from gpugraph.platform.progress import in_notebook, tqdm_class

_WIDTH = 24
_TERMINAL_SECONDS, _LOG_SECONDS = 0.2, 10.0


class ProgressHook(SessionRunHook):
    """Shows a training's progress. The display is one line in a terminal, several lines in a log,
    and a bar in a notebook.

    The tensors are computed only in the runs after which they are shown.

    Args:
      last_step: the global step at which the training ends. It is needed for the time left, and may
        be None.
      tensors: the scalars to show. They are a dict from names to tensors, or a single tensor, which
        is shown as `loss`.
      every_secs: the seconds between two updates. The default is 0.2 in a terminal or notebook, and
        10 in a log.
      file: the destination of lines, by default `sys.stderr`.
      use_tqdm: whether the package tqdm draws the line or bar. By default, it does so in a terminal
        or notebook if tqdm is installed. If `use_tqdm` is true and tqdm is not installed,
        ModuleNotFoundError is raised.
    """

    def __init__(
        self,
        last_step: int | None = None,
        tensors: Any = None,
        every_secs: float | None = None,
        file: TextIO | None = None,
        use_tqdm: bool | None = None,
    ) -> None:
        self._last_step, self._file = last_step, file
        shown = {"loss": tensors} if tensors is not None else {}
        self._tensors = dict(tensors) if isinstance(tensors, Mapping) else shown
        self._every_secs, self._use_tqdm = every_secs, use_tqdm

    def begin(self) -> None:
        """Find the global step. Raises RuntimeError if the graph has no global step."""
        self._global_step = global_step_for("ProgressHook")
        self._display: _Display | None = None
        self._is_time = False

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Start to count steps at the global step of the new session."""
        step = int(session.run(self._global_step))
        if self._display is None:
            self._display = _display(self._file, self._use_tqdm, step, self._last_step)
        self._first_step, self._start = step, time.monotonic()
        self._next = 0.0

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Fetch the global step and the tensors if an update is due."""
        self._is_time = time.monotonic() >= self._next
        if not self._is_time:
            return None
        return SessionRunArgs([self._global_step, list(self._tensors.values())])

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Show the fetched values."""
        if not self._is_time or self._display is None:
            return
        step, values = run_values.results
        self._show(int(step) + 1, dict(zip(self._tensors, values, strict=True)))
        wait = self._display.every_secs if self._every_secs is None else self._every_secs
        self._next = time.monotonic() + wait

    def end(self, session: Any) -> None:
        """Show the last step, and end the line."""
        if self._display is not None:
            self._show(int(session.run(self._global_step)), {})
            self._display.close()
            self._display = None

    def _show(self, step: int, values: Mapping[str, Any]) -> None:
        assert self._display is not None
        seconds = max(time.monotonic() - self._start, 1e-9)
        rate = (step - self._first_step) / seconds
        texts = {name: _number(value) for name, value in values.items()}
        self._display.show(step, rate, texts)


def _number(value: Any) -> str:
    return f"{value:.5g}" if np.ndim(value) == 0 and np.isreal(value) else str(value)


def _duration(seconds: float) -> str:
    if not math.isfinite(seconds):
        return "?"
    minutes, second = divmod(int(seconds + 0.5), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02d}:{second:02d}" if hours else f"{minute}:{second:02d}"


class _Display:
    """The display of progress as a line in a terminal that is overwritten, or as lines in a log."""

    def __init__(self, file: Any, is_terminal: bool, last_step: int | None) -> None:
        self._file, self._is_terminal, self._last = file, is_terminal, last_step
        self.every_secs = _TERMINAL_SECONDS if is_terminal else _LOG_SECONDS
        self._length = 0
        self._shown = -1

    def show(self, step: int, rate: float, texts: Mapping[str, str]) -> None:
        """Show a step, the rate in steps per second, and the texts with their names. If this step
        is already shown, do nothing.
        """
        if step == self._shown:
            return
        self._shown = step
        parts = [f"step {step}" if self._last is None else f"step {step}/{self._last}"]
        parts.append(f"{rate:.1f} steps/s" if rate < 1000 else f"{rate:.0f} steps/s")
        parts += [f"{name} {text}" for name, text in texts.items()]
        if self._last is not None:
            left = max(self._last - step, 0)
            parts.append(f"{_duration(left / rate if rate else math.inf)} left")
        self._write(", ".join(parts), step)

    def _write(self, text: str, step: int) -> None:
        if not self._is_terminal:
            self._file.write(text + "\n")
        else:
            if self._last:
                full = _WIDTH * min(step, self._last) // self._last
                text = f"[{'=' * full}{' ' * (_WIDTH - full)}] {text}"
            self._file.write("\r" + text.ljust(self._length))
            self._length = len(text)
        self._file.flush()

    def close(self) -> None:
        """End the line of a terminal."""
        if self._is_terminal and self._length:
            self._file.write("\n")
            self._file.flush()


class _TqdmDisplay(_Display):
    """A bar that tqdm draws, in a terminal or a notebook."""

    def __init__(self, tqdm: Any, file: Any, first: int, last_step: int | None) -> None:
        super().__init__(file, True, last_step)
        self._bar = tqdm(total=last_step, initial=first, unit="step", file=file)

    def show(self, step: int, rate: float, texts: Mapping[str, str]) -> None:
        """Move the bar."""
        if texts:
            self._bar.set_postfix(texts, refresh=False)
        self._bar.update(max(step - self._bar.n, 0))

    def close(self) -> None:
        """End the bar."""
        self._bar.close()


def _display(file: Any, use_tqdm: bool | None, first: int, last_step: int | None) -> _Display:
    target = sys.stderr if file is None else file
    is_terminal = bool(getattr(target, "isatty", lambda: False)())
    is_cell = in_notebook() and file is None
    wanted = (is_terminal or is_cell) if use_tqdm is None else use_tqdm
    if wanted:
        try:
            return _TqdmDisplay(tqdm_class(), None if is_cell else target, first, last_step)
        except ModuleNotFoundError:
            if use_tqdm:
                raise
    return _Display(target, is_terminal or is_cell, last_step)
