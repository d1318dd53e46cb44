"""Random programs whose explanations are compared with the kernels that their runs call.

    python tests/explained_programs.py PROGRAMS RUNS [ROWS]

prints a JSON object: of the last explanation of each plan, how many steps are native, waiting and
plain, and the reasons; how many steps of a state were compared with runs; and the differences:
steps called native, in explanations and labels of traced runs, whose NumPy kernel a run called, or
the reverse, notes on native runs and summaries whose counts are not those of the steps, and steps
under two states. ROWS: one plan per program, with that number of rows, in place of plans of few
rows.

A kernel that NumPy runs is bound by its device. So calls of the bound function show which steps are
not native, independently of the package's own reports. Steps whose state a run changes are not
compared in that run.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import gpugraph as tf
from gpugraph.devices.device import HostDevice
from gpugraph.kernel import KernelContext
from gpugraph.session import open_shapes
from gpugraph.session.explanations.explanation import CodeRecord, Explanation

COLUMNS = 8
SHAPES = 10
"""Numbers of rows that each program is fed: more than a session has plans of exact shapes for."""

CALLED: Counter[str] = Counter()
"""The calls of kernels by NumPy since it was cleared, by node."""

BOUND: set[str] = set()
"""The nodes whose calls are counted."""


def count_calls() -> None:
    """Count the calls of all NumPy kernels that are bound from now on."""
    bind = HostDevice.bind

    def counting(
        device: Any, kernel: Any, context: KernelContext, arrays: Sequence[Any]
    ) -> Callable[[], Any]:
        run = bind(device, kernel, context, arrays)
        if type(run).__name__ not in ("function", "partial", "builtin_function_or_method"):
            return run  # other code that identifies it by its class
        BOUND.add(context.name)

        def called() -> Any:
            CALLED[context.name] += 1
            return run()

        return called

    HostDevice.bind = counting  # type: ignore[method-assign]


def either(i: Any, y: Any) -> Any:
    """Return the body of a loop that takes either branch in turn."""
    is_even = tf.equal(i % 2, 0)
    return i + 1, tf.cond(is_even, lambda: tf.tanh(y) + 1.0, lambda: tf.nn.softmax(y) * 2.0)


def program(chance: np.random.RandomState, x: Any) -> list[Any]:
    """Return the fetches of a random program of a matrix of open rows."""
    weights = tf.Variable(tf.ones([COLUMNS, COLUMNS]) / COLUMNS)
    values = [tf.matmul(x, weights)]
    ops: list[Callable[[Any, Any], Any]] = [
        lambda a, b: tf.tanh(a) * b,
        lambda a, b: tf.nn.relu(a + b * 0.5),
        lambda a, b: tf.matmul(a, weights),
        lambda a, b: tf.nn.softmax(a - b),
        lambda a, b: a + tf.reduce_mean(b, 0),
        lambda a, b: a + tf.reduce_sum(tf.square(b), 1, keepdims=True) * 0.01,
        lambda a, b: tf.concat([a[:, :3], b[:, 3:]], 1),
        lambda a, b: tf.transpose(tf.transpose(tf.tanh(a))),
        lambda a, b: tf.gather(a, tf.nn.top_k(b[0], COLUMNS)[1], axis=1),
        lambda a, b: tf.reverse(a, [1]),
        lambda a, b: tf.cast(tf.cast(a, tf.bfloat16) * 2, tf.float32),
        lambda a, b: tf.abs(tf.complex(a, b)),
        lambda a, b: a + tf.cast(tf.size(tf.unique(tf.cast(b[:, 0] * 4, tf.int32))[0]), tf.float32),
        lambda a, b: tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, tf.tanh(y)), [0, a])[1],
        lambda a, b: tf.while_loop(
            lambda i, _: i < 3, lambda i, y: (i + 1, tf.tanh(tf.matmul(y, weights)) + b), [0, a]
        )[1],
        lambda a, b: tf.while_loop(lambda i, _: i < 3, either, [0, a + b])[1],
    ]
    for _ in range(chance.randint(2, 10)):
        one, other = (values[chance.randint(len(values))] for _ in range(2))
        values.append(ops[chance.randint(len(ops))](one, other))
    halved = tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, y / 2), [0, values[0][0]])
    fetches = [values[-1], halved[1]]
    if chance.rand() < 0.5:
        loss = tf.reduce_mean(tf.square(values[-1]))
        fetches.append(tf.train.AdamOptimizer(0.01).minimize(loss))
    return fetches


def counts_of(explanation: Explanation) -> tuple[int, ...]:
    """Return the numbers of the summary: steps, native ones, waiting ones, others."""
    (text,) = re.findall(r"^native: +(.*)$", explanation.summary(), re.M)
    patterns = r"of (\d+) steps", r"(\d+) in native calls", r"(\d+) wait \(", r"(\d+) are not \("
    found = (re.search(pattern, text) for pattern in patterns)
    return tuple(int(match[1]) if match else 0 for match in found)


def settled_steps(before: Explanation, after: Explanation) -> list[CodeRecord]:
    """Return the steps whose state a run between two explanations has not changed, and whose calls
    by
    NumPy are counted."""
    ends = {step.name: step for step in after.codes}
    times = Counter(step.name for step in before.codes)
    return [
        step
        for step in before.codes
        if step.name in BOUND and times[step.name] == 1 and ends.get(step.name) == step
    ]


def wrong_steps(settled: Sequence[CodeRecord]) -> list[str]:
    """Return the steps that a run has done by another way than explanations report."""
    return [
        f"{step}: {CALLED[step.name]} calls by NumPy"
        for step in settled
        if (step.state == "native") is bool(CALLED[step.name])
    ]


def wrong_records(after: Explanation) -> list[str]:
    """Steps that are listed under two states."""
    states: dict[str, str] = {}
    return [
        f"{step}: also {states[step.name]}"
        for step in after.codes
        if states.setdefault(step.name, step.state) != step.state
    ]


NOTE = re.compile(r"from (\S+) to (\S+): ((?:native|waiting|by NumPy) .*)")
LOOP = re.compile(r"loop (\S+)/while_context: (a native|waits to be a native|its steps) .*")
LOOP_STATES = {"a native": "native", "waits to be a native": "waiting", "its steps": "plain"}
PART = re.compile(r"(native|waiting|by NumPy) (\d+)(?: steps.*|: (.*))")


def wrong_notes(after: Explanation, settled: Sequence[CodeRecord]) -> list[str]:
    """Return the wrong notes on loops and native runs.

    A note is wrong if its steps are reported as waiting or NumPy's but were run by native code, or
    if its counts are not those of the records. Lines that promise native code are included.
    """
    (lines,) = [report.lines for report in after.reports if report.name == "binder"]
    wrong = [line for line in lines if re.search("may become|once it is", line)]
    order = [step.name for step in after.codes]
    native = {step.name for step in settled if not CALLED[step.name]}
    states = {step.name: step.state for step in after.codes}
    for line in lines:
        loop = LOOP.fullmatch(line)
        if loop and states[f"{loop[1]}/LoopCond/condition"] != LOOP_STATES[loop[2]]:
            wrong.append(line)
        if (note := NOTE.fullmatch(line)) is None:
            continue
        span = after.codes[order.index(note[1]) : order.index(note[2]) + 1]
        count = Counter(step.state for step in span)
        listed = dict.fromkeys(("native", "waiting", "by NumPy"), 0)
        for part in note[3].split("; "):
            match = PART.fullmatch(part)
            assert match is not None, line
            listed[match[1]] = int(match[2])
            names = {name.split(" ")[0] for name in (match[3] or "").split(", ")}
            if names & native:
                wrong.append(f"{line}: {names & native} are native")
        if list(listed.values()) != [count[state] for state in ("native", "waiting", "plain")]:
            wrong.append(f"{line}: {count}")
    return wrong


def wrong_labels(session: Any, fetches: Any, feeds: Any) -> list[str]:
    """Return the steps of a traced run whose labels report native where NumPy ran, or the
    reverse.
    """
    options, metadata = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), tf.RunMetadata()
    before = session.explain(fetches, feeds)
    CALLED.clear()
    session.run(fetches, feeds, options=options, run_metadata=metadata)
    names = {step.name for step in settled_steps(before, session.explain(fetches, feeds))}
    labels = [stats.timeline_label for stats in metadata.step_stats.dev_stats[0].node_stats]
    times = Counter(label.partition(" = ")[0] for label in labels)
    return [
        f"{label}: {CALLED[name]} calls by NumPy"
        for label in labels
        if (name := label.partition(" = ")[0]) in names and times[name] == 1
        if bool(re.search(r"\), native( of |$)", label)) is bool(CALLED[name])
    ]


def main(programs: int, runs: int, rows: int = 0) -> dict[str, Any]:
    """Run the programs, and return the counts and differences."""
    count_calls()
    states: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    compared: Counter[str] = Counter()
    wrong: list[str] = []
    for seed in range(programs):
        chance = np.random.RandomState(seed)
        open_shapes.MAX_UNITS = 8 * (seed % 2)  # without units: a plan with dynamic memory
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.placeholder(tf.float32, [None, COLUMNS])
            fetches = program(chance, x)
            session.run(tf.global_variables_initializer())
            for size in range(1, SHAPES + 1):
                feeds = {x: chance.rand(rows or size, COLUMNS)}
                before = session.explain(fetches, feeds)
                for _ in range(runs):
                    CALLED.clear()
                    session.run(fetches, feeds)
                    after = session.explain(fetches, feeds)
                    settled = settled_steps(before, after)
                    compared.update(step.state for step in settled)
                    wrong += wrong_steps(settled)
                    wrong += wrong_records(after) + wrong_notes(after, settled)
                    before = after
                    kinds = Counter(step.state for step in after.codes)
                    counts = tuple(kinds[kind] for kind in ("native", "waiting", "plain"))
                    if counts_of(after) != (len(after.codes), *counts):
                        wrong.append(f"{after.summary()} of {counts}")
                wrong += wrong_labels(session, fetches, feeds)
                states.update(step.state for step in after.codes)
                reasons.update(step.reason for step in after.codes if step.reason)
                if rows:
                    break
    return {"states": states, "reasons": reasons, "compared": compared, "wrong": wrong[:20]}


if __name__ == "__main__":
    print(json.dumps(main(*map(int, sys.argv[1:]))))
