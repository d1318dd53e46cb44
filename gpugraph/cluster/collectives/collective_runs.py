"""Execution of collectives over several processes on one task, concurrently with the stages of a
run.

    plan of a stage    hands over each input as soon as it is computed  (`_CollectiveInput`)
       |
    CollectiveStep     copies it; when the last of a bucket has arrived, a thread
       |                  meets the other members   (`collective_groups.py`)
       |                  reduces with them         (`collective_exchange.py`)
    later stages       are fed the results

So the plan continues to compute while its first gradients are being reduced. If the collective is
in a branch or a loop, the plan itself must wait for the result (`_CollectiveExchange`). No stage
waits for a collective of the same level, so a run does not wait for itself. A collective with
members in other sessions waits until they join, or until it is certain that they never will.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from gpugraph.base.errors import (
    AbortedError,
    CancelledError,
    DeadlineExceededError,
    OpError,
    UnavailableError,
    invalid_argument,
)
from gpugraph.base.fork_safe_locks import new_lock
from gpugraph.base.shapes import TensorShape, shape_text
from gpugraph.cluster.collectives.collective_buckets import CollectiveSpec
from gpugraph.cluster.collectives.collective_exchange import (
    MERGES,
    SMALL_BYTES,
    all_reduce,
    divide,
    meet,
    shared_all_reduce,
)
from gpugraph.cluster.collectives.collective_meetings import (
    Joining,
    Meeting,
    MeetingKey,
    MeetingMember,
    Participation,
    Round,
)
from gpugraph.cluster.collectives.collective_peers import CollectivePeers, PeerWire
from gpugraph.cluster.shared_segments import Segment, SegmentName, SegmentPool
from gpugraph.cluster.step_mailbox import StepLimit
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.device_names import DeviceSpec
from gpugraph.plan import check_run

_SLICE_S = 0.2


class BucketRun:
    """One run of a bucket's collectives on one task. The reductions of these collectives share one
    array.
    """

    def __init__(
        self, spec: CollectiveSpec, operations: Sequence[Operation], pool: SegmentPool, round: Round
    ) -> None:
        self.round = round
        self.spec, self.operations, self._pool = spec, operations, pool
        first = operations[0]
        self.kind = first.type.removesuffix("Send").removesuffix("Recv")
        self.dtype = first.attrs["T"]
        self.group_size = int(first.attrs["group_size"])
        self.merge_op = first.attrs.get("merge_op", "")
        self.final_op = first.attrs.get("final_op", "")
        self.instances = operations[:: spec.num_local]
        self.inputs: dict[str, Any] = {}
        self.missing = {op.name for op in operations if op._inputs}
        self.results: dict[str, Any] = {}
        self.flat: Any = None
        self.segment: Segment | None = None
        self.wait = os.urandom(8).hex()
        self.is_begun = False
        self.meeting: Meeting | None = None
        self.error: BaseException | None = None
        self.is_over = threading.Event()

    def key(self, step: int) -> MeetingKey:
        """Return the key under which the bucket's members meet.

        Args:
          step: the number of the step.
        """
        attrs = self.operations[0].attrs
        text = f"group {attrs['group_key']}, instance {attrs['instance_key']}"
        return (step if self.spec.is_whole else 0), text

    @property
    def signature(self) -> list[str]:
        """The properties that must be the same for all members."""
        texts = [f"{self.kind} of {self.dtype.name}"]
        ops = ("merge_op", self.merge_op), ("final_op", self.final_op)
        texts += [f"{name} {value}" for name, value in ops if value]
        for op in self.instances:
            value = self.inputs.get(op.name)
            shape = op.attrs["shape"] if value is None else TensorShape.of(value.shape)
            texts.append(f"shape {shape_text(shape)} of instance {op.attrs['instance_key']}")
        return texts

    def take(self, name: str, value: Any) -> bool:
        """Copy the input of a member. Return whether the inputs of all members have now been
        received.
        """
        if self.merge_op and self.spec.num_local == 1:
            self._put(name, value)
        else:
            self.inputs[name] = np.array(value, self.dtype.as_numpy_dtype)
        self.missing.discard(name)
        return not self.missing

    def _put(self, name: str, value: Any) -> None:
        """Copy an input, or the sum of this task's inputs, to the section of the array that belongs
        to its collective.
        """
        start, size = self._places(value)[name]
        if value.size != size:
            raise invalid_argument(f"'{name}' has {value.size} elements, not {size}")
        part = self.flat[start : start + size].reshape(value.shape)
        np.copyto(part, value)
        self.inputs[name] = self.results[name] = part

    def _places(self, value: Any) -> dict[str, tuple[int, int]]:
        """Return the offset and size, in elements, of each collective's section of the array.

        If the array does not exist yet, allocate it.
        """
        places, start = {}, 0
        for op in self.instances:
            is_alone = len(self.instances) == 1
            size = int(value.size if is_alone else op._outputs[0].shape.num_elements() or 0)
            places[op.name] = (start, size)
            start += size
        if self.flat is None:
            dtype = np.dtype(self.dtype.as_numpy_dtype)
            if start * dtype.itemsize > SMALL_BYTES:
                self.segment = self._pool.take(start * dtype.itemsize)
            held = None if self.segment is None else self.segment.content.view(dtype)
            self.flat = np.empty(start, dtype) if held is None else held
        return places

    def join_devices(self) -> None:
        """For each collective, reduce the inputs of this task's devices to one input, in the order
        of the devices.
        """
        num_local = self.spec.num_local
        for index, first in enumerate(self.instances if num_local > 1 else ()):
            names = [op.name for op in self.operations[index * num_local :][:num_local]]
            values = [self.inputs[name] for name in names]
            if len({value.shape for value in values}) > 1:
                shapes = ", ".join(shape_text(TensorShape.of(value.shape)) for value in values)
                raise invalid_argument(f"The members of a collective have shapes {shapes}")
            total = values[0]
            for value in values[1:]:
                MERGES[self.merge_op](total, value, out=total)
            self._put(first.name, total)
            self.results |= dict.fromkeys(names, self.results[first.name])

    @property
    def divisor(self) -> int:
        """The number by which the reduced values are divided. It is 1 for a sum."""
        return self.group_size if self.final_op == "Div" else 1


class CollectiveStep:
    """The collectives in one step of a task's part.

    Args:
      inside: for each member in a branch or a loop, by name, a function that returns its next
        BucketRun.
    """

    def __init__(
        self,
        peers: CollectivePeers,
        pool: SegmentPool,
        session: str,
        step: int,
        buckets: Sequence[BucketRun],
        inside: Mapping[str, Callable[[], BucketRun]],
    ) -> None:
        self._peers, self._pool, self._session, self._step = peers, pool, session, step
        self._buckets, self._inside = list(buckets), inside
        self._bucket_of = {op.name: bucket for bucket in buckets for op in bucket.operations}
        self._turns = dict.fromkeys(inside, 0)
        self._failure: OpError | None = None
        self._lock = new_lock()

    def take(self, name: str, value: Any) -> Any:
        """Receive a member's input from a plan. If the member is in a branch or a loop, wait for
        the result and return it. Otherwise return None immediately.
        """
        if name in self._inside:
            return self._exchanged(self._inside[name](), name, value)
        bucket = self._bucket_of[name]
        if bucket.take(name, value):
            self._begin(bucket)
        return None

    def _exchanged(self, bucket: BucketRun, name: str, value: Any) -> Any:
        """Start a collective in a branch or a loop, wait for it, and return the result."""
        with self._lock:
            self._buckets.append(bucket)
            bucket.round = bucket.round._replace(turn=self._turns[name])
            self._turns[name] += 1
        if bucket.missing:
            bucket.take(name, value)
        self._begin(bucket)
        while not bucket.is_over.wait(_SLICE_S):
            check_run("while a collective waited")
            self._raise_failure()
        if bucket.error is not None:
            check_run("while a collective waited")
            raise bucket.error
        result = np.array(bucket.results[name])
        with self._lock:
            self._buckets.remove(bucket)
        if bucket.segment is not None:
            self._pool.give_back(bucket.segment)
        return result

    def begin(self, specs: Iterable[CollectiveSpec]) -> None:
        """Start the collectives in `specs` that need no input from this task."""
        for spec in (spec for spec in specs if not spec.is_inside):
            bucket = self._bucket_of[spec.operations[0]]
            if not bucket.missing:
                self._begin(bucket)

    def _begin(self, bucket: BucketRun) -> None:
        if not bucket.is_begun:
            bucket.is_begun = True
            self._peers.threads.submit(self._run, bucket)

    def results(self, names: Iterable[str], limit: StepLimit) -> dict[str, Any]:
        """Wait for the outputs of these members, and return them by tensor name.

        The outputs may be views of memory that the next run overwrites.
        """
        values = {}
        for name in names:
            bucket = self._bucket_of[name]
            while not bucket.is_over.wait(_SLICE_S):
                limit.check("while a collective waited")
                self._raise_failure()  # an error of another bucket comes first
            if bucket.error is not None:
                limit.check("while a collective waited")
                raise bucket.error
            values[f"{name}:0"] = bucket.results[name]
        return values

    def _raise_failure(self) -> None:
        for bucket in list(self._buckets):
            if bucket.error is not None:
                raise bucket.error

    def wait_for_all(self, limit: StepLimit) -> None:
        """Wait until all collectives of this step have ended."""
        self.results([bucket.operations[0].name for bucket in self._buckets], limit)

    def close(self, error: OpError | None) -> None:
        """Release the memory, so that other runs can use it. If there is an error, first leave all
        unfinished collectives.
        """
        if error is not None:
            with self._lock:
                self._failure = error
            has_waited = isinstance(error, (DeadlineExceededError, CancelledError))
            # Compute this before leaving any bucket, since leaving sets the error of buckets that
            # have met.
            is_own = not has_waited and all(bucket.error is None for bucket in self._buckets)
            for bucket in [*self._buckets, *self._not_begun()]:
                if not bucket.is_over.is_set():
                    self._leave(bucket, error, is_own)
            for bucket in self._buckets:
                self._drop(bucket)
            return
        for bucket in self._buckets:
            if bucket.segment is not None:
                self._pool.give_back(bucket.segment)

    def _not_begun(self) -> list[BucketRun]:
        """Return the buckets in branches and loops that were skipped. Other members may be waiting
        for these buckets.
        """
        begun = {bucket.operations[0].name for bucket in self._buckets}
        return [make() for name, make in self._inside.items() if name not in begun]

    def _leave(self, bucket: BucketRun, error: OpError, is_own: bool) -> None:
        """Notify the other members of a bucket that this member has left. Members that join later
        are also notified.
        """
        message = error
        if not isinstance(error, (AbortedError, UnavailableError)):
            message = AbortedError.of_no_node(
                f"{self._peers.task} left a collective, as its step failed: {error.message}"
            )
        if bucket.meeting is not None:
            self._peers.abort(bucket.meeting, error if bucket.spec.is_whole else message)
        elif not bucket.spec.is_whole:
            wait = bucket.wait if bucket.is_begun else ""
            leader, key = bucket.spec.leader, bucket.key(self._step)
            attempt = Participation(self._devices(bucket)[0], self._session, bucket.round)
            self._peers.leave(leader, key, wait, message, attempt, is_own)

    def _devices(self, bucket: BucketRun) -> tuple[str, ...]:
        """Return the full names of the devices of this task's members."""
        members = bucket.operations[: bucket.spec.num_local]
        return tuple(f"{self._peers.task}{_local(op._device)}" for op in members)

    # -- in a thread

    def _run(self, bucket: BucketRun) -> None:
        try:
            with np.errstate(all="ignore"):  # no NumPy warnings, as in kernels
                self._exchange(bucket)
        except BaseException as error:
            bucket.error = error
            if bucket.meeting is not None:
                reason = error if isinstance(error, OpError) else None
                self._leave(bucket, reason or AbortedError.of_no_node(repr(error)), False)
        finally:
            bucket.is_over.set()
            self._drop(bucket)

    def _drop(self, bucket: BucketRun) -> None:
        """Release the memory of a bucket whose step has failed, unless a thread of this process
        still uses it.
        """
        with self._lock:
            if self._failure is None or (bucket.is_begun and not bucket.is_over.is_set()):
                return
            segment, bucket.segment, bucket.flat = bucket.segment, None, None
            bucket.inputs, bucket.results = {}, {}
            meeting, is_done = bucket.meeting, bucket.is_begun and bucket.error is None
        if segment is not None and is_done:  # all members have read the segment
            self._pool.give_back(segment)
        elif meeting is not None:  # members may still read it, so it is not reused
            self._pool.forget(member.segment for member in meeting.members)

    def _exchange(self, bucket: BucketRun) -> None:
        if bucket.merge_op:
            bucket.join_devices()
        member = MeetingMember(
            self._peers.task,
            self._session,
            self._devices(bucket),
            SegmentName() if bucket.segment is None else bucket.segment.name,
            self._peers.incarnation,
        )
        key, size = bucket.key(self._step), bucket.group_size
        joining = Joining(key, size, bucket.signature, bucket.wait, member, round=bucket.round)
        meeting = self._joined(bucket.spec.leader, joining)
        with self._lock:
            bucket.meeting = meeting
            failure = self._failure
        if failure is not None:
            raise failure
        wire = self._peers.wire(meeting, meeting.members.index(member))
        if bucket.merge_op:
            self._reduce(bucket, meeting, wire)
        elif bucket.kind == "CollectiveGather":
            joined = np.concatenate([bucket.inputs[op.name] for op in bucket.operations])
            self._give(bucket, np.concatenate(meet(wire, "in", joined)))
        else:
            self._broadcast(bucket, wire)
        wire.finish()

    def _joined(self, leader: str, joining: Joining) -> Meeting:
        """Join a collective and return the meeting of all members. Raises the leader's error, and
        UnavailableError if the leader does not answer.
        """
        try:
            return self._peers.join(leader, joining)
        except UnavailableError as error:
            address = self._peers.peer(leader).address
            if leader == self._peers.task or f"of the server at {address})" not in error.message:
                raise  # the leader itself has reported that a member is gone
            raise UnavailableError.of_no_node(
                f"{leader}, at which the members of collectives meet, does not answer: its process "
                "has ended, or can't be reached. All members have to run the same number of steps "
                f"with collectives, and the leader's process has to outlive them: {error.message}"
            ) from None

    def _give(self, bucket: BucketRun, value: Any) -> None:
        bucket.results = {op.name: value for op in bucket.operations}

    def _broadcast(self, bucket: BucketRun, wire: PeerWire) -> None:
        """Broadcast the value from the task that has an input. The members first exchange their
        numbers of inputs to find this task.
        """
        sent = list(bucket.inputs.values())
        counts = meet(wire, "senders", np.array(len(sent)))
        if sum(map(int, counts)) != 1:
            raise invalid_argument(f"A broadcast has {sum(map(int, counts))} senders")
        root = [int(count) for count in counts].index(1)
        if wire.rank == root:
            for rank in range(wire.size):
                if rank != root:
                    wire.send(rank, "value", sent[0])
            self._give(bucket, sent[0])
        else:
            self._give(bucket, wire.ask(root, "value")())

    def _reduce(self, bucket: BucketRun, meeting: Meeting, wire: PeerWire) -> None:
        flat, merge = bucket.flat, MERGES[bucket.merge_op]
        if wire.size == 1:
            divide(flat, bucket.divisor)
            return
        arrays = self._shared(bucket, meeting, wire)
        if arrays is None:
            all_reduce(wire, flat, merge, bucket.divisor)
        else:
            shared_all_reduce(wire, arrays, merge, bucket.divisor)

    def _shared(self, bucket: BucketRun, meeting: Meeting, wire: PeerWire) -> Sequence[Any] | None:
        """Return the arrays of all members if each member can map the shared memory of all other
        members. Otherwise return None.
        """
        flat = bucket.flat
        if any(member.segment.size != flat.nbytes for member in meeting.members) or not flat.size:
            return None
        arrays: list[Any] = [
            flat if rank == wire.rank else self._pool.map(member.segment)
            for rank, member in enumerate(meeting.members)
        ]
        sees_all = all(array is not None for array in arrays)
        if not all(map(bool, meet(wire, "sees", np.array(sees_all)))):
            return None
        return [array.view(flat.dtype) for array in arrays]


def _local(device: str) -> str:
    """Return a device's full name without the task."""
    spec = DeviceSpec.from_string(device)
    return f"/device:{(spec.device_type or 'CPU').upper()}:{spec.device_index or 0}"
