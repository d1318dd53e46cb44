"""Progress bars: Progbar, for terminals, notebooks and log files, and ProgbarLogger, a callback
that shows one bar per epoch.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from gpugraph.library.keras.callbacks.callback import Callback, Logs


class Progbar:
    """A progress bar of `target` steps on the standard output, with values such as losses.

    If the output is neither a terminal nor a notebook, lines cannot be redrawn. The bar is then
    shown only when it is full.

    Args:
      target: the number of steps, or None if it is unknown.
      width: the length of the bar, in characters.
      verbose: 1 for a bar that is redrawn, 2 for one line when the target is reached, 0 for
        nothing.
      interval: the minimum number of seconds between two redraws.
      stateful_metrics: names of values that are shown unchanged. All other values are averaged over
        the steps.
      unit_name: the word for one step in the text.
    """

    def __init__(
        self,
        target: int | None,
        width: int = 30,
        verbose: int = 1,
        interval: float = 0.05,
        stateful_metrics: Iterable[str] | None = None,
        unit_name: str = "step",
    ) -> None:
        self.target, self.width, self.verbose, self.interval = target, width, verbose, interval
        self.unit_name = unit_name
        self.stateful_metrics = set(stateful_metrics or ())
        stream: Any = sys.stdout
        is_notebook = "ipykernel" in sys.modules
        self._redraws = is_notebook or bool(getattr(stream, "isatty", lambda: False)())
        self._values: dict[str, Any] = {}
        self._seen = 0
        self._length = 0
        self._start = time.time()
        self._last_draw = 0.0

    def update(self, current: int, values: Sequence[tuple[str, Any]] | None = None) -> None:
        """Set the number of completed steps to `current`. Redraw the bar if `interval` seconds have
        passed.

        Args:
          values: pairs (name, mean over the steps since the last update).
        """
        for name, value in values or []:
            if name in self.stateful_metrics:
                self._values[name] = value
            else:
                total, count = self._values.get(name, (0.0, 0))
                added = max(current - self._seen, 1)
                self._values[name] = (total + value * added, count + added)
        self._seen = current
        is_full = self.target is not None and current >= self.target
        now = time.time()
        if self.verbose == 1 and (is_full or (self._redraws and self._is_due(now))):
            self._draw(current, now, is_full)
            self._last_draw = now
        elif self.verbose == 2 and is_full:
            count = f"{current:{len(str(self.target))}d}/{self.target}"
            self._write(f"{count} - {now - self._start:.0f}s{self._averages()}\n")

    def add(self, n: int, values: Sequence[tuple[str, Any]] | None = None) -> None:
        """Add `n` completed steps. For `values`, see `update`."""
        self.update(self._seen + n, values)

    def _is_due(self, now: float) -> bool:
        return now - self._last_draw >= self.interval

    def _draw(self, current: int, now: float, is_full: bool) -> None:
        text = self._bar(current) + self._timing(current, now, is_full) + self._averages()
        padding = " " * max(self._length - len(text), 0)
        self._length = len(text)
        start = "\r" if self._redraws else ""
        self._write(start + text + padding + ("\n" if is_full else ""))

    def _bar(self, current: int) -> str:
        if self.target is None:
            return f"{current:7d}/Unknown"
        digits = len(str(self.target))
        part = min(current / max(self.target, 1), 1.0)
        filled = int(self.width * part)
        arrow = ">" if filled > 0 and current < self.target else "="
        bar = ("=" * (filled - 1) + arrow) if filled else ""
        return f"{current:{digits}d}/{self.target} [{bar}{'.' * (self.width - filled)}]"

    def _timing(self, current: int, now: float, is_full: bool) -> str:
        elapsed = now - self._start
        each_unit = elapsed / current if current else 0.0
        if self.target is None or is_full:
            return f" - {elapsed:.0f}s {_duration(each_unit)}/{self.unit_name}"
        left = each_unit * (self.target - current)
        minutes, seconds = divmod(int(left), 60)
        hours, minutes = divmod(minutes, 60)
        if hours:
            return f" - ETA: {hours}:{minutes:02d}:{seconds:02d}"
        return f" - ETA: {minutes}:{seconds:02d}" if minutes else f" - ETA: {seconds}s"

    def _averages(self) -> str:
        parts = []
        for name, value in self._values.items():
            mean = value[0] / max(value[1], 1) if isinstance(value, tuple) else value
            mean = float(np.mean(mean))
            parts.append(f" - {name}: {mean:.4f}" if abs(mean) > 1e-3 else f" - {name}: {mean:.4e}")
        return "".join(parts)

    def _write(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()


def _duration(seconds: float) -> str:
    """Format a duration as whole seconds, milliseconds or microseconds."""
    if seconds >= 1:
        return f"{seconds:.0f}s"
    return f"{seconds * 1e3:.0f}ms" if seconds >= 1e-3 else f"{seconds * 1e6:.0f}us"


class ProgbarLogger(Callback):
    """A callback that shows a progress bar for each epoch.

    The constructor raises ValueError if `count_mode` is neither "samples" nor "steps".

    Args:
      count_mode: "samples" if the bar counts examples, "steps" if it counts batches.
      stateful_metrics: see `Progbar`.
    """

    def __init__(
        self, count_mode: str = "samples", stateful_metrics: Iterable[str] | None = None
    ) -> None:
        super().__init__()
        if count_mode not in ("samples", "steps"):
            raise ValueError(f"Unknown `count_mode`: {count_mode}")
        self.use_steps = count_mode == "steps"
        self.stateful_metrics = set(stateful_metrics or ())
        self.verbose, self.epochs, self.seen = 0, 1, 0
        self.target: int | None = None
        self.progbar: Progbar | None = None

    def on_train_begin(self, logs: Logs = None) -> None:
        """Get the verbosity and the number of epochs from `params`."""
        self.verbose = self.params["verbose"]
        self.epochs = self.params["epochs"]

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        """Print the epoch's number if there are several epochs, and start a bar."""
        self.seen = 0
        self.target = self.params["steps" if self.use_steps else "samples"]
        if self.verbose and self.epochs > 1:
            print(f"Epoch {epoch + 1}/{self.epochs}")
        unit = "step" if self.use_steps else "sample"
        self.progbar = Progbar(
            self.target, verbose=self.verbose, stateful_metrics=self.stateful_metrics,
            unit_name=unit,
        )  # fmt: skip

    def on_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Advance the bar by a batch. `on_epoch_end` advances the bar for the last batch of the
        epoch.
        """
        logs = logs or {}
        self.seen += logs.get("num_steps", 1) if self.use_steps else logs.get("size", 0)
        if self.verbose and self.progbar is not None and self.seen != self.target:
            values = [(name, logs[name]) for name in self.params["metrics"] if name in logs]
            self.progbar.update(self.seen, values)

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Show the full bar with the losses and metrics of the epoch, including the results of
        validation.
        """
        if not self.verbose or self.progbar is None:
            return
        logs = logs or {}
        names = [name for name in self.params["metrics"] if name in logs]
        self.progbar.stateful_metrics.update(names)
        if self.progbar.target is None or self.progbar.target != self.seen:
            self.progbar.target = self.seen
        self.progbar.update(self.seen, [(name, logs[name]) for name in names])
