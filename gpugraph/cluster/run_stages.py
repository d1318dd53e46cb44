"""Stages of a run. One task executes each stage.

The level of an operation is the maximum number of times that a path to it crosses from one task to
another. A stage consists of the operations of one task at one level:

    /job:ps      level 0  read w  ----.                 level 2  assign w
    /job:worker                        `-> level 1  x @ w, gradient --^

A stage starts when the tensors that it receives from other tasks have arrived. These tensors come
from stages of lower levels, and each task runs its stages in the order of their levels. Therefore,
among the stages that have not run, a stage with the lowest level has received all of its tensors.
So a run never deadlocks with itself, regardless of its placement
(`tests/cluster/test_random_placements.py`).

Operations that can't be separated have one level and one task. These are the operations of a branch
or loop, and operations that share a TensorArray or a stack (`session/partial_run_graph.py`). A
branch and its gradient are inseparable, so the operations between them, such as the loss, have the
same level, and a collective between them is executed like a collective in a branch. Variables,
handles, and constants without control inputs are in every stage of their task that needs them.

As in one process, a read of a variable after a write in the same run returns the written value
(`compile/lowering/read_after_write.py`). For this, the value that the variable has at the end of
the writing stage is fed to the reading stage. The fed value replaces the output of the Identity
`read`, which all readers of the variable share.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from gpugraph.base.dtypes import resource
from gpugraph.base.errors import InternalError, UnimplementedError
from gpugraph.cluster.collectives.collective_buckets import CollectiveGroup, collective_groups
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.strongly_connected import strongly_connected
from gpugraph.ops.framework.op_declaration import DECLARATIONS
from gpugraph.session.partial_run_graph import PartialRunGraph, is_in_each_part, variable_of


@dataclass
class RunStage:
    """The work of a task at one level.

    All stages of a task in a run read and write the part's store, a dict of values.

    Args:
      feeds: tensors, with the keys of their values in the part's store.
      fetches: the tensors to store, by key.
      connections: maps a reference or handle of an earlier stage to the variable that is read
        instead.
      done: operations that have run in earlier stages.
      receives: maps a rendezvous key to the sending task and the key of the value.
      sends: maps a rendezvous key to the key of a value for another task. An empty key signals the
        end of the stage.
      takes: the names of collectives over several processes whose results the stage needs.
    """

    task: str
    level: int
    operations: list[Operation] = field(default_factory=list)
    feeds: dict[Tensor, str] = field(default_factory=dict)
    fetches: dict[str, Tensor] = field(default_factory=dict)
    targets: dict[Operation, None] = field(default_factory=dict)
    connections: dict[Tensor, Tensor] = field(default_factory=dict)
    done: dict[Operation, None] = field(default_factory=dict)
    receives: dict[str, tuple[str, str]] = field(default_factory=dict)
    sends: dict[str, str] = field(default_factory=dict)
    takes: dict[str, None] = field(default_factory=dict)


def cut_into_stages(
    feeds: Collection[Tensor],
    fetches: Sequence[Tensor],
    targets: Sequence[Operation],
    task_of: Callable[[Operation], str],
) -> tuple[dict[str, list[RunStage]], dict[Operation, CollectiveGroup]]:
    """Return the stages of each task, in the order of their levels, and the collectives of the run.

    Raises UnimplementedError if a group of inseparable operations needs a tensor of another task
    that itself depends on the group.
    """
    cutter = _Cutter(feeds, fetches, targets, task_of)
    return cutter.cut(), cutter.collectives


class _Cutter:
    """The division of one run into stages."""

    def __init__(
        self,
        feeds: Collection[Tensor],
        fetches: Sequence[Tensor],
        targets: Sequence[Operation],
        task_of: Callable[[Operation], str],
    ) -> None:
        self.feeds = feeds
        self.wanted = [tensor for tensor in fetches if tensor not in feeds]
        self.targets = targets
        roots = [*(tensor.op for tensor in self.wanted), *targets]
        self.graph = PartialRunGraph(feeds, roots)
        self.task_of = {op: task_of(op) for op in self.graph.operations}
        self.shared = {op for op in self.graph.operations if is_in_each_part(op)}
        self.levels: dict[Operation, int] = {}
        self.writes: list[tuple[Operation, Operation]] = []  # each with the written variable
        self.after: dict[Operation, int] = {}  # bit n: depends on write n
        self.stages: dict[tuple[str, int], RunStage] = {}
        self.own_reads: dict[int, list[Tensor]] = {}
        self.collectives = collective_groups(self.graph.operations, self.task_of.__getitem__)
        for op in self.graph.groups:
            self._note_inside(op)

    def cut(self) -> dict[str, list[RunStage]]:
        """Return the stages by task."""
        self._find_levels()
        for op in self.graph.operations:
            if op not in self.shared:
                self._stage(self.task_of[op], self.levels[op]).operations.append(op)
        for op in self.targets:
            if op in self.shared:
                self._stage(self.task_of[op], 0).targets[op] = None
        for stage in list(self.stages.values()):
            self._connect(stage)
        for tensor in self.wanted:
            if self._is_spread(tensor.op):
                self._result_home(tensor.op)
            else:
                self._home(tensor, self._last_level(tensor)).fetches[tensor.name] = tensor
        parts: dict[str, list[RunStage]] = {}
        for stage in sorted(self.stages.values(), key=lambda stage: stage.level):
            parts.setdefault(stage.task, []).append(stage)
        return parts

    def _stage(self, task: str, level: int) -> RunStage:
        key = task, level
        if key not in self.stages:
            self.stages[key] = RunStage(task, level)
        return self.stages[key]

    # -- collectives over processes

    def _is_spread(self, op: Operation) -> bool:
        """Return whether the operation is a member of a collective that is executed between
        stages.
        """
        group = self.collectives.get(op)
        return group is not None and group.is_spread and not group.is_inside

    def _note_inside(self, op: Operation) -> None:
        """If the operation is a collective over several processes, mark it as a collective in a
        branch or a loop.

        A plan with such a collective waits for the other members. All other members must be in
        other sessions, because otherwise two stages of one run could wait for each other. Raises
        UnimplementedError if two members are in this run.
        """
        group = self.collectives.get(op)
        if group is None or not group.is_spread:
            return
        if len(group.members) > 1:
            others = ", ".join(f"'{x.name}'" for x in group.members if x is not op)
            raise UnimplementedError(
                op._record,
                op,
                f"The collective '{op.name}' is in a branch or a loop (or between a branch or a "
                f"loop and its gradient), and over several processes with other members of the "
                f"same run ({others}): give each member a separate session, or compute it "
                "outside",
            )
        self.collectives[op] = group._replace(is_inside=True)

    def _result_home(self, op: Operation) -> RunStage:
        """Return the first stage of the collective's task that can send the result to other
        tasks.
        """
        stage = self._stage(self.task_of[op], self.levels[op] + 1)
        stage.takes[op.name] = None
        return stage

    def _take_result(self, stage: RunStage, tensor: Tensor) -> None:
        """Add the result of a collective over processes to the inputs of a stage."""
        stage.feeds[tensor] = tensor.name
        if self.task_of[tensor.op] == stage.task:
            stage.takes[tensor.op.name] = None
        else:
            home = self._result_home(tensor.op)
            self._receive(stage, home, f"{tensor.name}>{stage.task}", tensor.name)

    # -- levels

    def _find_levels(self) -> None:
        """Compute the level of each operation. Operations that can't be separated have the same
        level.
        """
        for unit in self._units():
            self._find_writes(unit)
            level = max((self._min_level(op) for op in unit), default=0)
            self.levels |= dict.fromkeys(unit, level)

    def _units(self) -> list[list[Operation]]:
        """Return the operations in groups. The operations of a group have one level, and a group
        comes after all groups that it needs.

        A group consists of inseparable operations, of the members of a collective, or of a single
        operation. Groups that need each other are joined into one. For example, a branch and its
        gradient are inseparable, and the loss is between them.
        """
        wholes: list[Sequence[Operation]] = []
        whole_of: dict[Operation, int] = {}
        groups = [group.members for group in self.collectives.values()]
        for whole in [
            *self.graph.groups.values(),
            *groups,
            *([op] for op in self.graph.operations),
        ]:
            if whole[0] not in whole_of:
                whole_of |= dict.fromkeys(whole, len(wholes))
                wholes.append(whole)

        def needs(whole: int) -> dict[int, None]:
            sources = (source for op in wholes[whole] for source in self.graph.sources(op))
            return dict.fromkeys(whole_of[source] for source in sources)

        units = []
        for component in strongly_connected(range(len(wholes)), needs):
            units.append([op for whole in component for op in wholes[whole]])
            if len(component) > 1:
                self._join(units[-1])
        return units

    def _join(self, unit: Sequence[Operation]) -> None:
        """Prepare the operations `unit`, which need each other, to run in one stage.

        The plan of the stage waits for the collectives among these operations. Raises
        UnimplementedError if this is not possible.
        """
        tasks = sorted({self.task_of[op] for op in unit})
        inseparable = next((op for op in unit if op in self.graph.groups), unit[0])
        if len(tasks) > 1:
            apart = next(op for op in unit if self.task_of[op] != self.task_of[inseparable])
            raise UnimplementedError(
                inseparable._record,
                inseparable,
                f"Operations of a branch, a loop or a TensorArray wait for others that wait for "
                f"them: '{inseparable.name}' on {self.task_of[inseparable]} and '{apart.name}' on "
                f"{self.task_of[apart]}. Place them on one task. Or the members of collectives "
                "need each other's results",
            )
        for op in unit:
            self._note_inside(op)

    def _find_writes(self, unit: Sequence[Operation]) -> None:
        """Number the writes of a group of operations. Record, for each operation of the group, the
        writes on which it depends.
        """
        sources = {source for op in unit for source in self.graph.sources(op)}
        before = 0
        for source in sources:
            before |= self.after.get(source, 0)
        self.after |= dict.fromkeys(unit, before)
        for op in unit:
            declared = DECLARATIONS.get(op.type)
            for slot in () if declared is None else declared.memory.writes:
                if slot < len(op._inputs) and op._inputs[slot]._dtype.is_ref_dtype:
                    bit = 1 << len(self.writes)
                    self.writes.append((op, variable_of(op._inputs[slot]).op))
                    for member in unit:
                        self.after[member] |= bit

    def _min_level(self, op: Operation) -> int:
        """Return the first level at which all inputs of an operation are available, except inputs
        from its own group.
        """
        level = 0
        task = self.task_of[op]
        for source in self.graph.sources(op):
            if source in self.levels:
                is_near = self.task_of[source] == task
                later = 0 if is_near else 1
                if self._is_spread(source):  # other collectives may delay this one
                    is_read = any(tensor.op is source for tensor in op._inputs)
                    later += int(is_read or not self._is_spread(op))
                level = max(level, self.levels[source] + later)
        for tensor in op._inputs:
            written = self._last_write(op, tensor)
            if written is not None and self.task_of[written] != task:
                level = max(level, self.levels[written] + 1)
        return level

    def _last_write(self, reader: Operation, tensor: Tensor) -> Operation | None:
        """Among the writes of a variable, return the write on which `reader` depends. If there are
        several, return one with the highest level.

        Returns None if there is no such write, or if `tensor` is neither a variable nor a
        variable's shared read.
        """
        variable = _read_variable(tensor)
        if variable is None or tensor in self.feeds:
            return None
        others = [x.op for x in reader._inputs if x is not tensor] + [*reader._control_inputs]
        bits = 0
        for other in others:
            bits |= self.after.get(other, 0)
        writes = [
            write
            for number, (write, written) in enumerate(self.writes)
            if bits >> number & 1 and written is variable and write in self.levels
        ]
        return max(writes, key=self.levels.__getitem__, default=None)

    def _last_level(self, tensor: Tensor) -> int:
        """Return the level of the stage that fetches a tensor.

        If the tensor is a variable, return the level of the last stage of the variable's task.
        """
        if tensor.op not in self.shared:
            return self.levels[tensor.op]
        task = self.task_of[tensor.op]
        return max((level for name, level in self.stages if name == task), default=0)

    def _home(self, tensor: Tensor, level: int) -> RunStage:
        return self._stage(self.task_of[tensor.op], level)

    # -- transfers between stages

    def _connect(self, stage: RunStage) -> None:
        """Set the inputs and targets of a stage, and add the inputs to the outputs of the stages
        that compute them."""
        members = set(stage.operations)
        for op in stage.operations:
            for tensor in op._inputs:
                if tensor in self.feeds:
                    stage.feeds[tensor] = tensor.name
                elif tensor.op not in members:
                    self._take(stage, op, tensor)
            for other in op._control_inputs:
                self._connect_control(stage, op, other, members)
            is_read_here = all(reader in members for reader in self.graph.readers[op])
            if op in self.targets or self._is_spread(op) or not is_read_here:
                stage.targets[op] = None
        for tensor in self.own_reads.pop(id(stage), ()):
            stage.feeds.pop(tensor, None)

    def _take(self, stage: RunStage, op: Operation, tensor: Tensor) -> None:
        """Add an operation's input from another stage to the inputs of the operation's stage."""
        if self._is_spread(tensor.op):
            self._take_result(stage, tensor)
            return
        is_near = self.task_of[tensor.op] == stage.task
        written = self._last_write(op, tensor)
        if is_near and tensor.op in self.shared:
            return
        if written is not None:
            if (self.task_of[written], self.levels[written]) == (stage.task, stage.level):
                self.own_reads.setdefault(id(stage), []).append(tensor)  # the compiler adds a read
            else:
                self._take_value(stage, tensor, written)
        elif is_near:
            self._take_near(stage, tensor)
        else:
            self._take_far(stage, tensor, self.levels[tensor.op])

    def _take_value(self, stage: RunStage, tensor: Tensor, written: Operation) -> None:
        """Feed a stage the value that a variable has at the end of the stage that writes it."""
        variable = _read_variable(tensor)
        assert variable is not None
        home = self.stages[self.task_of[written], self.levels[written]]
        key = f"{variable.name}:0#{home.level}"
        home.fetches[key] = variable._outputs[0]
        earlier = stage.feeds.get(tensor, "")
        if "#" in earlier and int(earlier.rpartition("#")[2]) >= home.level:
            return  # the stage has another reader, which depends on a later write
        stage.feeds[tensor] = key
        if home.task != stage.task:
            self._receive(stage, home, f"{key}>{stage.task}", key)

    def _connect_control(
        self, stage: RunStage, op: Operation, other: Operation, members: Collection[Operation]
    ) -> None:
        """Make `stage` wait until `other`, a control input of `op`, has run. Do nothing if `other`
        runs in `stage` itself.
        """
        if self.graph.arrival(other) is not None:
            stage.done[other] = None
            return
        is_far = self.task_of[other] != stage.task
        if other in members or (other in self.shared and not is_far):
            return
        stage.done[other] = None
        if self._is_spread(other):
            if is_far:
                self._wait_for(stage, self._result_home(other))
            elif op not in self.collectives:
                stage.takes[other.name] = None
        elif is_far and other not in self.shared:
            self._wait_for(stage, self.stages[self.task_of[other], self.levels[other]])

    def _take_near(self, stage: RunStage, tensor: Tensor) -> None:
        """Add a tensor of an earlier stage of the same task to the inputs of a stage."""
        if tensor._dtype.is_ref_dtype or tensor._dtype is resource:
            stage.connections[tensor] = variable_of(tensor)
            return
        self.stages[stage.task, self.levels[tensor.op]].fetches[tensor.name] = tensor
        stage.feeds.setdefault(tensor, tensor.name)

    def _take_far(self, stage: RunStage, tensor: Tensor, level: int) -> None:
        """Add a tensor of another task to the inputs of a stage. The tensor is sent only once to
        each task.
        """
        if tensor._dtype is resource:
            raise UnimplementedError(
                tensor.op._record,
                tensor.op,
                f"The handle '{tensor.name}' (made at {tensor.op.origin}) stays on "
                f"{self.task_of[tensor.op]}, but {stage.task} needs it",
            )
        home = self._home(tensor, level)
        key = tensor.name if tensor.op not in self.shared else f"{tensor.name}#{level}"
        home.fetches[key] = tensor
        if stage.feeds.setdefault(tensor, key) != key:
            return  # the stage has another reader, which depends on a write
        self._receive(stage, home, f"{key}>{stage.task}", key)

    def _wait_for(self, stage: RunStage, other: RunStage) -> None:
        """Make a stage wait until a stage of another task has ended."""
        self._receive(stage, other, f"^{other.task} {other.level}>{stage.task}", "")

    def _receive(self, stage: RunStage, home: RunStage, meeting: str, key: str) -> None:
        """Make `stage` receive a value from `home`, a stage of another task, unless an earlier
        stage of its task receives it already. If a later stage of the same task receives the value,
        remove the value from the inputs of that stage.

        Args:
          meeting: the rendezvous key.
          key: the value's key in the part's store.
        """
        if home.level >= stage.level:  # the two stages could wait for each other
            raise InternalError.of_no_node(
                f"Level {stage.level} of {stage.task} takes {meeting} from level {home.level}"
            )
        home.sends[meeting] = key
        for earlier in self.stages.values():
            if earlier.task == stage.task and meeting in earlier.receives:
                if earlier.level <= stage.level:
                    return
                del earlier.receives[meeting]
        stage.receives[meeting] = (home.task, key)


def _read_variable(tensor: Tensor) -> Operation | None:
    """Return the reference variable if `tensor` is its reference or its shared read. Return None
    for any other tensor.
    """
    op = tensor.op
    if op.type == "Identity" and not op._control_inputs and op.name.endswith("/read"):
        source = op._inputs[0]
        if source._dtype.is_ref_dtype and op.name == f"{source.op.name}/read":
            return source.op if not source.op._inputs else None
    is_variable = tensor._dtype.is_ref_dtype and not op._inputs
    return op if is_variable else None
