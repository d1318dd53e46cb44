"""Explanation, which shows how a run is executed, and why, as text and as records."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

from gpugraph.base.html_tables import folded, html_table
from gpugraph.memory import human_readable_bytes
from gpugraph.plan import (
    ArenaRecord,
    BufferRecord,
    LoopRecord,
    PassReport,
    Placement,
    Plan,
    Transfer,
    step_codes,
)
from gpugraph.session.explanations.device_columns import device_columns
from gpugraph.session.explanations.fitted_columns import fitted_columns, wrapped

MAX_REASONS = 3
"""The summary lists at most this number of reasons for running on the host."""


MAX_TENSORS = 5
"""The maximum number of tensors at an arena's peak that are listed by name."""

MAX_HTML_ROWS = 300
"""The maximum number of table rows in the HTML that a notebook shows."""


MAX_NAMES = 8
"""The maximum number of steps of one kind of code that are listed by name."""

MAX_REASON_LENGTH = 120
"""Reasons in the summary and in the lines of the steps have at most this number of characters."""

_ASSIGNMENTS = frozenset({"Assign", "AssignVariableOp"})
_INITIALIZERS = frozenset(
    {
        *("InitializeTable", "InitializeTableV2", "InitializeTableFromTextFile"),
        *("InitializeTableFromTextFileV2", "MakeIterator"),
    }
)
_CHECKPOINT_OPS = frozenset(
    {"SaveV2", "MergeV2Checkpoints", "RestoreV2", "_RestoreSized", "Save", "Restore"}
)
_CHECK_OPS = frozenset({"IsVariableInitialized", "VarIsInitializedOp"})
_NO_EFFECT = ("0 ", "no ", "not ", "nothing ")
"""The first words of the report of a pass that has changed nothing."""

_CODE_WORDS = {
    "native": "in native calls",
    "graph": "in CUDA graphs",
    "waiting": "waiting",
    "plain": "not native",
}


def _placements(plan: Plan, sources: Plan | None) -> Sequence[Placement]:
    """Return the placements of all ops of a run, each op once."""
    if sources is None:
        return plan.placements
    known = {op.name for op in plan.placements}
    return [*(op for op in sources.placements if op.name not in known), *plan.placements]


class CodeRecord(NamedTuple):
    """A step, and the code that ran it when the plan was explained.

    Args:
      state: "native" for compiled code, "graph" for a CUDA graph, "waiting" if the step's kernel
        runs until native code is compiled, or "plain" if the kernel runs permanently.
      reason: the reason why the step waits or is not native. Otherwise empty.
    """

    name: str
    op_type: str
    device: str
    state: str
    reason: str


class Explanation:
    """An explanation of how a run is executed: the device of each op and the reason for it, the
    transfers between devices, and the report of each pass.

    If the run reads iterators or queues first (`source_runs.py`), `sources` is the plan of
    this part.

    `pipelines` has a text for each iterator of the session, with the elements, the time and the
    fullness of each stage. Iterators are measured from the first explanation on.

    `codes` holds the code that ran each step when the plan was explained. A later explanation of
    the same plan may have more native steps.

    `str()` returns the complete text. It consists of `summary()` (five lines with counts),
    `passes()` (the report of each compiler pass), `table()` (one line for each op), and the
    transfers between devices. `text(width)` returns the same text in lines of at most `width`
    characters.
    """

    def __init__(
        self,
        plan: Plan,
        unused_options: Sequence[str] = (),
        pipelines: Sequence[str] = (),
        sources: Plan | None = None,
    ) -> None:
        self.pipelines = pipelines
        codes = list(step_codes(plan.steps))  # read once: the compiler may change them meanwhile
        first = () if sources is None else list(step_codes(sources.steps))
        self.placed: Sequence[Placement] = _placements(plan, sources)
        self.transfers: Sequence[Transfer] = plan.transfers
        self.reports: Sequence[PassReport] = plan.current_reports(codes)
        if unused_options:
            summary = (
                f"{len(unused_options)} fields of RunOptions that runs set have no effect here"
            )
            self.reports = [PassReport("run options", summary, unused_options), *self.reports]
        self.arenas: dict[str, ArenaRecord] = plan.arenas
        self.arena_bytes: dict[str, int] = plan.arena_bytes
        self.sized_in_run: dict[str, tuple[int, int]] = plan.sized_in_run
        self.loops: Sequence[LoopRecord] = plan.loops
        self.whose_memory: str = plan.whose_memory
        self.fetches: Sequence[str] = plan.key.fetches
        wanted = [*plan.key.fetches, *plan.key.targets]
        self.title = ", ".join(wanted[:6]) + (" ..." if len(wanted) > 6 else "")
        steps = [*(() if sources is None else sources.steps), *plan.steps]
        self.steps: Sequence[str] = [f"{step.kind} {step.name}" for step in steps]
        self.codes = [
            CodeRecord(step.label, step.op_type, step.device, code.state, code.reason)
            for step, code in [*first, *codes]
        ]

    def device_of(self, name: str) -> str:
        """Return the full name of the device of op `name`. Raises KeyError if it is not in the
        run.
        """
        return self._placed(name).device

    def reason_of(self, name: str) -> str:
        """Return the reason for the device of op `name`. Raises KeyError if it is not in the
        run.
        """
        return self._placed(name).reason

    def _placed(self, name: str) -> Placement:
        for op in self.placed:
            if op.name == name:
                return op
        raise KeyError(name)

    def is_bookkeeping(self) -> bool:
        """Return whether the run only initializes, checks, saves or restores variables, or does not
        compute anything.
        """
        op_types = {op.op_type for op in self.placed}
        if op_types & (_CHECKPOINT_OPS | _CHECK_OPS) or not self.codes:
            return True
        return self._only_initializes()

    def _only_initializes(self) -> bool:
        """Return whether the run fetches nothing and only gives variables, tables and iterators
        their initial values.
        """
        names = {op.name for op in self.placed}
        written = [op.name for op in self.placed if op.op_type in _ASSIGNMENTS]
        is_first = [
            name.endswith("/Assign") and name.removesuffix("/Assign") in names for name in written
        ]
        is_first += [True for op in self.placed if op.op_type in _INITIALIZERS]
        return not self.fetches and bool(is_first) and all(is_first)

    def summary(self) -> str:
        """Return five lines about ops and steps by device, fused ops, native steps and kernels on
        the host.

        For kernels on the host and for steps that are not native, the lines contain the most common
        reasons.
        """
        lines = [
            ("operations", _counts(op.device for op in self.placed)),
            ("steps", _counts(step.device for step in self.codes)),
            ("fused", self._report("fusion_groups").summary),
            ("native", self.native()),
            ("on the host", self._on_host()),
        ]
        return "\n".join(f"{head + ':':<13}{text}" for head, text in lines)

    def devices(self) -> str:
        """Return a text that compares the devices side by side: operations, steps, arena and
        transfers. If there is only one device, return "".
        """
        return device_columns(
            [op.device for op in self.placed],
            [step.device for step in self.codes],
            self.arenas,
            self.transfers,
        )

    def native(self) -> str:
        """Return a text with the number of steps in native code, in CUDA graphs, and in neither.

        Steps that still wait for native code are counted separately from steps that never get it,
        with the most common reasons.
        """
        counts = Counter(step.state for step in self.codes)
        words = {"native": "in native calls", "graph": "in CUDA graphs"}
        parts = [f"{counts[state]} {word}" for state, word in words.items() if counts[state]]
        text = f"{' and '.join(parts) or 'none'} of {len(self.codes)} steps"
        for state, verb in (("waiting", "wait"), ("plain", "are not")):
            reasons = Counter(step.reason for step in self.codes if step.state == state)
            if reasons:
                text += f"; {reasons.total()} {verb} ({_most_common(reasons)})"
        return text

    def code_lines(self, width: int | None = None) -> str:
        """Return a text with one line for each kind of code and each reason. A line lists the steps
        to which it applies.
        """
        groups: dict[tuple[str, str], list[str]] = {}
        for step in self.codes:
            names = groups.setdefault((step.state, step.reason), [])
            names.append(f"{step.name} ({step.op_type})")
        lines = []
        for (state, reason), names in sorted(groups.items()):
            head = _CODE_WORDS[state] + (f" ({_first_words(reason)})" if reason else "")
            rest = " ..." if len(names) > MAX_NAMES else ""
            line = f"{head}, {len(names)} steps: {', '.join(names[:MAX_NAMES])}{rest}"
            lines.append(wrapped(line, width))
        return "\n".join(lines)

    def _on_host(self) -> str:
        """Return a text with the number of kernels on the host and the most common reasons."""
        reasons = Counter(
            op.reason.removeprefix("fused: ").partition("; ")[0]
            for op in self.placed
            if op.mode.startswith(("kernel", "in place")) and _short(op.device).startswith("CPU:")
        )
        fallbacks = [
            line for line in self._report("binder").lines if " runs on the host for " in line
        ]
        causes = fallbacks[:MAX_REASONS]
        causes += [_most_common(reasons)] if reasons else []
        count = reasons.total() + len(fallbacks)
        return f"{count} kernels" + (f" ({'; '.join(causes)})" if causes else "")

    def _report(self, name: str) -> PassReport:
        return next((r for r in self.reports if r.name == name), PassReport(name, "not run"))

    def of_pass(self, name: str, width: int | None = None) -> str:
        """Return the report of the compiler pass `name`. If the name is unknown, raise ValueError
        with the list of names.

        Args:
          width: the number of characters at which lines are wrapped. None means that lines are not
            wrapped.
        """
        reports = [report for report in self.reports if report.name == name]
        if not reports:
            names = ", ".join(dict.fromkeys(report.name for report in self.reports))
            raise ValueError(f"There is no pass '{name}' in this plan; there are: {names}")
        return "\n".join(_pass_lines(reports, width))

    def passes(self, width: int | None = None, brief: bool = False) -> str:
        """Return the report of each pass with its duration, followed by the results of `code_lines`
        and `memory`.

        Args:
          brief: whether passes that changed nothing share one line.
        """
        idle = [report for report in self.reports if brief and _changed_nothing(report)]
        lines = _pass_lines([report for report in self.reports if report not in idle], width)
        if idle:
            names = ", ".join(report.name for report in idle)
            lines.append(wrapped(f"{len(idle)} passes changed nothing: {names}", width))
        lines += [self.code_lines(width)] if self.codes else []
        lines += [wrapped(line, width) for line in self.memory().splitlines()]
        return "\n".join(lines)

    def memory(self) -> str:
        """Return a text about the memory of the run on each device.

        For each arena it shows the size, the node at the peak, the largest tensors there, and
        whether other plans use the arena. It also shows the additional memory that each iteration
        of a loop keeps, and the number of tensors whose size is known only in a run.
        """
        lines = []
        for device, arena in sorted(self.arenas.items()):
            live = arena.at_peak()
            largest = live[:MAX_TENSORS]
            part = 100 * sum(tensor.num_bytes for tensor in largest) // max(arena.bound, 1)
            count = f"these {len(largest)} tensors hold" if len(largest) > 1 else "one tensor holds"
            lines.append(
                f"arena on {device}: {human_readable_bytes(arena.num_bytes)}, most of it at "
                f"'{arena.node}'; {count} {part} % of that"
            )
            lines += _tensor_lines(largest)
        if lines:
            lines.append(self.whose_memory)
        for loop in self.loops:
            known = [tensor for tensor in loop.tensors if tensor.num_bytes]
            number = len(loop.tensors) - len(known)
            sizes = [human_readable_bytes(loop.num_bytes)] if known else []
            sizes += [f"{_tensors(number)} of open size"] if number else []
            lines.append(
                f"each iteration of {loop.loop} keeps {' and '.join(sizes)} on "
                f"{_short(loop.device)}, beside the arena"
            )
            lines += _tensor_lines(known[:MAX_TENSORS])
        for device, (number, limit) in sorted(self.sized_in_run.items()):
            tensors, are = _tensors(number), "are" if number > 1 else "is"
            lines.append(
                f"{tensors} on {_short(device)} {are} sized in each run: beside the arena, in what "
                f"is left of {human_readable_bytes(limit)}"
            )
        return "\n".join(lines)

    def table(self, width: int | None = None) -> str:
        """Return a text with one line for each op: its name, op type, device, execution mode, and
        the reason for the device.

        Args:
          width: the maximum length of a line. Longer texts are shortened in the middle. None means
            no limit.
        """
        return placement_table(self.placed, width)

    def text(self, width: int | None = None) -> str:
        """Return the whole explanation.

        Args:
          width: the maximum length of a line. None means no limit.
        """
        transfers = "\n".join(
            wrapped(f"{copy.tensor}: {copy.source} -> {copy.target} ({_size(copy)})", width)
            for copy in self.transfers
        )
        parts = (
            *(self.summary(), self.devices(), self.passes(width), "\n".join(self.pipelines)),
            *(self.table(width), transfers),
        )
        return "\n\n".join(part for part in parts if part)

    def _repr_html_(self) -> str:
        """Return the summary, the passes and the table of operations as HTML for notebooks.

        Tables have at most `MAX_HTML_ROWS` rows.
        """
        passes = "".join(
            folded(
                f"{report.name}: {report.summary} ({report.seconds * 1e3:.2f} ms)",
                html_table((), [(line,) for line in report.lines], MAX_HTML_ROWS),
            )
            for report in self.reports
        )
        rows = [(op.name, op.op_type, _short(op.device), op.mode, op.reason) for op in self.placed]
        head = ("operation", "op", "device", "how it is run", "why it is there")
        table = html_table(head, rows, MAX_HTML_ROWS)
        columns = self.devices()
        parts = [
            f"<pre>{escape(self.summary())}</pre>",
            f"<pre>{escape(columns)}</pre>" if columns else "",
            folded("Report of each pass", passes),
            folded(f"{len(rows)} operations", table),
        ]
        return folded(f"Plan of {self.title}", "".join(parts), True)

    def __str__(self) -> str:
        return self.text()


def log_placements(plan: Plan, logged: set[str]) -> None:
    """Print to stderr the device of each op that is not in `logged`, with the reason. Add the names
    of these ops to `logged`.
    """
    for op in plan.placements:
        if op.name not in logged:
            logged.add(op.name)
            print(f"{op.name}: ({op.op_type}): {op.device} - {op.reason}", file=sys.stderr)


def placement_table(placed: Iterable[Placement], width: int | None = None) -> str:
    """Return a text with one line for each op: its name, op type, device, execution mode, and the
    reason for its placement.
    """
    rows = [(op.name, op.op_type, _short(op.device), op.mode, op.reason) for op in placed]
    return fitted_columns(rows, width)


def _changed_nothing(report: PassReport) -> bool:
    return not report.lines and report.summary.startswith(_NO_EFFECT)


def _pass_lines(reports: Sequence[PassReport], width: int | None) -> list[str]:
    most = max((len(report.name) for report in reports), default=0)
    lines = []
    for report in reports:
        head = f"{report.name:<{most}} {report.seconds * 1e3:9.2f} ms  {report.summary}"
        lines.append(head if width is None or len(head) <= width else wrapped(head, width))
        lines += [wrapped(line, width, "    ") for line in report.lines]
    return lines


def _tensors(number: int) -> str:
    return f"{number} tensors" if number > 1 else "one tensor"


def _tensor_lines(tensors: Iterable[BufferRecord]) -> list[str]:
    return [f"  {human_readable_bytes(tensor.num_bytes):>10}  {tensor.text}" for tensor in tensors]


def _most_common(reasons: Counter[str]) -> str:
    """Return a text with the most common of these reasons, each with its count."""
    commonest = reasons.most_common(MAX_REASONS)
    rest = len(reasons) - len(commonest)
    texts = [f"{count}: {_first_words(reason)}" for reason, count in commonest]
    return "; ".join(texts + ([f"{rest} more reasons"] if rest else []))


def _first_words(reason: str) -> str:
    """Return the shortened first line of a reason, because a reason may be a long message of a
    compiler.
    """
    line = reason.partition("\n")[0]
    return line if len(line) <= MAX_REASON_LENGTH else f"{line[:MAX_REASON_LENGTH]} ..."


def _counts(devices: Iterable[str]) -> str:
    """Return a text with the number of occurrences of each device, such as `3 on CPU:0, 2 on
    GPU:0`.
    """
    counts = sorted(Counter(map(_short, devices)).items())
    return ", ".join(f"{count} on {device}" for device, count in counts) or "none"


def _size(transfer: Transfer) -> str:
    if transfer.num_bytes is None:
        return "size known at run time"
    return human_readable_bytes(transfer.num_bytes)


def _short(device: str) -> str:
    return device.rpartition("device:")[2]
