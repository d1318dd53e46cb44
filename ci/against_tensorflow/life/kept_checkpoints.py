"""Random histories of savers and managers: which checkpoints are there after each step of one.

Time is a clock that the history sets, for `time.time` and for the files' own times.
"""

from __future__ import annotations

import contextlib
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from recorded_programs import Programs, Record, adding_to

PROGRAMS: Programs = {}
program = adding_to(PROGRAMS)

HISTORIES, STEPS = 60, 14
HOUR = 3600.0


class Clock:
    """A clock in place of `time.time`, which goes on a second with each look."""

    def __init__(self) -> None:
        self.now = 1.7e9

    def __call__(self) -> float:
        self.now += 1.0
        return self.now

    @contextlib.contextmanager
    def in_charge(self) -> Iterator[None]:
        """Have `time.time` tell its time."""
        original, time.time = time.time, self
        try:
            yield
        finally:
            time.time = original


class History:
    """A folder of checkpoints and the chances by which it changes."""

    def __init__(self, tf: Any, folder: Path, seed: int) -> None:
        self.tf, self.folder = tf, folder
        folder.mkdir()
        self.chance, self.clock = random.Random(seed), Clock()
        self.step = 0
        self.max_to_keep = self.chance.choice((1, 1, 2, 3, 5))
        self.hours = self.chance.choice((10000.0, 1.0, 2.5))

    def present(self) -> list[str]:
        """Return the checkpoints that are there."""
        return sorted(path.stem for path in self.folder.glob("*.index"))

    def files(self) -> list[str]:
        """Return the files of checkpoints, whole or not."""
        return sorted(path.name for path in self.folder.glob("model*"))

    def some(self) -> list[str]:
        """Paths of some checkpoints that are there, in any order, and of one that is not."""
        names = self.present()
        chosen = self.chance.sample(names, self.chance.randrange(len(names) + 1))
        if self.chance.random() < 0.3:
            chosen.insert(0, "model-99")
        return [str(self.folder / name) for name in chosen]

    def saved(self, path: str) -> None:
        """Give the files of a checkpoint the clock's time."""
        for file in self.folder.glob(f"{os.path.basename(path)}.*"):
            os.utime(file, (self.clock.now, self.clock.now))

    def number(self) -> int:
        """Return the next step, or one of a former save."""
        self.step += 1
        return self.chance.randrange(1, self.step + 1) if self.chance.random() < 0.2 else self.step

    def lose_one(self) -> None:
        """Remove the files of a checkpoint, or its data alone."""
        if names := self.present():
            name, kind = self.chance.choice(names), self.chance.choice(("*", "data*"))
            for file in self.folder.glob(f"{name}.{kind}"):
                file.unlink()


def saver_history(history: History, session: Any, record: Record, name: str) -> None:
    tf, chance = history.tf, history.chance

    def new_saver() -> Any:
        return tf.train.Saver(
            max_to_keep=history.max_to_keep, keep_checkpoint_every_n_hours=history.hours
        )

    saver = new_saver()
    for number in range(STEPS):
        kind = chance.choice(("save",) * 8 + ("lose", "recover", "paths", "times", "new", "wait"))
        if kind == "save":
            path = f"{history.folder}/model"
            history.saved(saver.save(session, path, history.number(), write_meta_graph=False))
        elif kind == "lose":
            history.lose_one()
        elif kind == "recover":
            saver.recover_last_checkpoints(history.some())
        elif kind == "paths":
            saver.set_last_checkpoints(history.some())
        elif kind == "times":
            now = history.clock.now
            times = [(path, now - chance.random() * 9 * HOUR) for path in history.some()]
            saver.set_last_checkpoints_with_time(times)
        elif kind == "new":
            saver = new_saver()
            state = tf.train.get_checkpoint_state(str(history.folder))
            if state is not None:
                saver.recover_last_checkpoints(list(state.all_model_checkpoint_paths))
        history.clock.now += chance.choice((1.0, 60.0, HOUR, 3 * HOUR))
        last = [os.path.basename(path) for path in saver.last_checkpoints]
        record(f"{name}, {number}: {kind}", [history.files(), last])


def manager_history(history: History, checkpoint: Any, record: Record, name: str) -> None:
    tf, chance = history.tf, history.chance
    hours = chance.choice((None, history.hours))

    def new_manager() -> Any:
        return tf.train.CheckpointManager(
            checkpoint, str(history.folder), history.max_to_keep, hours, checkpoint_name="model"
        )

    manager = new_manager()
    for number in range(STEPS):
        kind = chance.choice(("save",) * 8 + ("lose", "new", "wait"))
        if kind == "save":
            history.saved(manager.save(checkpoint_number=history.number()))
        elif kind == "lose":
            history.lose_one()
        elif kind == "new":
            manager = new_manager()
        history.clock.now += chance.choice((1.0, 60.0, HOUR, 3 * HOUR))
        last = [os.path.basename(path) for path in manager.checkpoints]
        record(f"{name}, {number}: {kind}", [history.files(), last])


@program
def kept_by_savers(tf: Any, record: Record) -> None:
    for seed in range(HISTORIES):
        history = History(tf, record.folder / f"savers-{seed}", seed)
        with tf.Graph().as_default(), tf.Session() as session:
            session.run(tf.get_variable("v", [2], initializer=tf.zeros_initializer()).initializer)
            with history.clock.in_charge():
                saver_history(history, session, record, f"history {seed}")


@program
def kept_by_managers(tf: Any, record: Record) -> None:
    v = tf.get_variable("v", [2], initializer=tf.zeros_initializer())
    with tf.Session() as session, session.as_default():
        session.run(tf.global_variables_initializer())
        checkpoint = tf.train.Checkpoint(v=v)
        for seed in range(HISTORIES):
            history = History(tf, record.folder / f"managers-{seed}", seed)
            with history.clock.in_charge():
                manager_history(history, checkpoint, record, f"history {seed}")
