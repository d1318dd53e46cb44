"""Communication of a collective's members with each other and with their leader.

Arrays that members send each other are kept in a mailbox until they are requested, like tensors
between stages, and are sent over the same connections. An array is sent with the number of the
meeting, in place of the number of the step that is sent with a tensor. A member that has waited for
a long time checks whether the other member's server still answers.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.base.errors import AbortedError, OpError, UnavailableError, invalid_argument
from gpugraph.cluster.calls.answers import PendingCall, error_of, message_of, write_failure
from gpugraph.cluster.collectives.collective_groups import CollectiveGroups
from gpugraph.cluster.collectives.collective_meetings import (
    Joining,
    Meeting,
    MeetingKey,
    MeetingMember,
    Outcome,
    Participation,
    Round,
)
from gpugraph.cluster.daemon_threads import DaemonThreads
from gpugraph.cluster.peer_tasks import PeerTasks
from gpugraph.cluster.step_mailbox import StepMailbox, StepMailboxes
from gpugraph.cluster.transport import Peer
from gpugraph.cluster.wire_values import read_segment, write_segment
from gpugraph.config.environment import seconds
from gpugraph.platform.waiting import warn_while_waiting

_LOOK_S = 1.0
_STATUS_S = 2.0
_TELL_S = 5.0
_AGAIN_S = 5.0


class _Ending:
    """The outcome of a member's wait on this task, set when the leader has reported it."""

    def __init__(self) -> None:
        self.is_over = threading.Event()
        self.outcome: Outcome | None = None


class CollectivePeers:
    """A task's functions for collectives, both as a member and as a leader.

    Args:
      peer: a function that returns the connection to another task.
      others: the object that sends tensors of a step to other tasks.
      incarnation: the incarnation of this task's server.
    """

    def __init__(
        self,
        task: str,
        tasks: Sequence[str],
        mailboxes: StepMailboxes,
        peer: Callable[[str], Peer],
        others: PeerTasks,
        incarnation: int,
    ) -> None:
        self.incarnation = incarnation
        self.task, self.mailboxes, self.peer, self.others = task, mailboxes, peer, others
        self._tasks = frozenset(tasks)
        self.groups = CollectiveGroups(tasks, incarnation, self.incarnation_of, self.settle)
        self._endings: dict[str, _Ending] = {}  # of waits of this task, by their names
        self._reached: set[str] = set()
        self._leaving: set[PendingCall] = set()
        # By session and leader: the leader's incarnation in the last meeting, or 0 after an error.
        self._leaders: dict[str, dict[str, int]] = {}
        self.threads = DaemonThreads("gpugraph-collectives")

    def incarnation_of(self, task: str) -> int:
        """Return the incarnation of a task's server, or 0 if the server does not answer."""
        if task == self.task:
            return self.incarnation
        try:
            status = self.peer(task).call("GetStatus", message_of("Nothing"), wait_s=_STATUS_S)
        except OpError:
            return 0
        return int(status.incarnation) if status.task == task else 0

    def join(self, leader: str, joining: Joining) -> Meeting:
        """Join a collective and return the meeting of all members. Raises the leader's error."""
        if joining.key[0]:  # the run itself ends if a server is restarted
            return self._join(leader, joining)
        leaders = self._leaders.setdefault(joining.member.session, {})
        try:
            met = leaders.setdefault(leader, 0)
            meeting = self._join(leader, joining._replace(leader_incarnation=met))
        except OpError:
            leaders[leader] = 0
            raise
        if leaders[leader] == met:  # no other collective has failed meanwhile
            leaders[leader] = meeting.leader_incarnation
        return meeting

    def _join(self, leader: str, joining: Joining) -> Meeting:
        limited = joining._replace(limit_s=seconds("GPUGRAPH_COLLECTIVE_WAIT"))
        self._finish_leaving()
        ending = self._endings[joining.wait] = _Ending()
        try:
            while not ending.is_over.is_set():
                if leader == self.task:
                    meeting = self.groups.join(limited)
                else:
                    meeting = self._join_there(leader, limited)
                if meeting is not None:
                    return meeting
                ending.is_over.wait(_AGAIN_S)  # then join again: the leader may have been restarted
        finally:
            del self._endings[joining.wait]
        if isinstance(ending.outcome, OpError):
            raise ending.outcome.bare()
        assert ending.outcome is not None
        return ending.outcome

    def _join_there(self, leader: str, joining: Joining) -> Meeting | None:
        (step, key), size, signature, wait, member, limit_s, round, met = joining
        message = message_of("JoinCollective", step=step, key=key, size=size, signature=signature)
        message.wait, message.limit_s = wait, limit_s
        message.round, message.turn, message.sequence = round
        message.leader_incarnation = met
        _write_member(message.member, member)
        peer = self.peer(leader)
        if leader not in self._reached:  # the leader may not have started yet
            wait_s = seconds("GPUGRAPH_CLUSTER_WAIT")
            with warn_while_waiting(f"Waiting for {leader} at {peer.address}, to join collectives"):
                peer.call("GetStatus", message_of("Nothing"), wait_s=wait_s)
            self._reached.add(leader)
        try:
            answer = peer.call("JoinCollective", message)
        except UnavailableError:
            self._reached.discard(leader)
            raise
        return _read_meeting(answer) if answer.member else None

    def settle(self, task: str, wait: str, outcome: Outcome) -> None:
        """Notify a task of the outcome of the wait named `wait`."""
        if task == self.task:
            ending = self._endings.get(wait)
            if ending is not None:
                ending.outcome = outcome
                ending.is_over.set()
            return
        message = message_of("CollectiveOutcome", wait=wait)
        if isinstance(outcome, OpError):
            write_failure(message.failure, outcome)
        else:
            _write_meeting(message.meeting, outcome)
        self.peer(task).tell("SettleCollective", message, limit_s=_TELL_S)

    def leave(
        self,
        leader: str,
        key: MeetingKey,
        wait: str,
        error: OpError,
        attempt: Participation,
        is_own: bool,
    ) -> None:
        """Notify the leader that a member will not join in a step, or no longer waits.

        The leader receives the notice before the member joins in another step, and before the
        member's session is closed. For the parameters, see `CollectiveGroups.leave`.
        """
        if leader == self.task:
            self.groups.leave(key, wait, error, attempt, is_own)
            return
        message = message_of("LeaveCollective", step=key[0], key=key[1], wait=wait, is_own=is_own)
        message.device, message.session, (message.round, _, message.sequence) = attempt
        write_failure(message.failure, error)
        leaving = self.peer(leader).start("LeaveCollective", message, limit_s=_TELL_S)
        self._leaving.add(leaving)
        leaving.when_done(lambda: self._leaving.discard(leaving))

    def _finish_leaving(self) -> None:
        """Wait until all notices of this task's members to leaders have arrived or failed."""
        for leaving in list(self._leaving):
            with contextlib.suppress(OpError):
                leaving()

    def close_session(self, session: str, reason: str) -> None:
        """Notify the leaders of a session's collectives that the session's members on this task
        won't join again.
        """
        error = AbortedError.of_no_node(
            f"{self.task} has left the collectives of a session: {reason}"
        )
        leaders = self._leaders.pop(session, ())
        if leaders:
            self._finish_leaving()
        for leader in leaders:
            if leader == self.task:
                self.groups.close_session(session, error)
                continue
            message = message_of("LeaveCollective", session=session)
            write_failure(message.failure, error)
            self.peer(leader).tell("LeaveCollective", message, limit_s=_TELL_S)

    def abort(self, meeting: Meeting, error: OpError) -> None:
        """End the exchange of a meeting with an error, on all tasks of its members."""
        self.mailboxes.abort(meeting.step, error)
        for task in {member.task for member in meeting.members} - {self.task}:
            message = message_of("AbortStep", step=meeting.step)
            write_failure(message.failure, error)
            self.peer(task).tell("AbortStep", message, limit_s=_TELL_S)

    def wire(self, meeting: Meeting, rank: int) -> PeerWire:
        """Return the transport from the member with the index `rank` to the other members of a
        meeting.
        """
        return PeerWire(self, meeting, rank)

    def answer_join(self, message: Any) -> Any:
        """As the leader, handle a request to join from a member of another task.

        Returns the meeting, or an empty message if the member must wait. Raises
        InvalidArgumentError if the member's task is not in the cluster, or if the request names no
        device or names a device twice.
        """
        member = _read_member(message.member)
        if member.task not in self._tasks:
            raise invalid_argument(f"{member.task[:80]!r}, of a collective's member, is not a task")
        if not member.devices or len(set(member.devices)) < len(member.devices):
            count = "a device twice" if member.devices else "no device"
            raise invalid_argument(f"A collective's member on {member.task} joins with {count}")
        joining = Joining(
            (message.step, message.key),
            message.size,
            list(message.signature),
            message.wait,
            member,
            message.limit_s,
            Round(message.round, message.turn, message.sequence),
            message.leader_incarnation,
        )
        meeting = self.groups.join(joining)
        answer = message_of("CollectiveMeeting")
        if meeting is not None:
            _write_meeting(answer, meeting)
        return answer

    def answer_settle(self, message: Any) -> None:
        """Handle the leader's notification about the outcome of a wait."""
        is_failure = message.HasField("failure")
        outcome = error_of(message.failure) if is_failure else _read_meeting(message.meeting)
        self.settle(self.task, message.wait, outcome)

    def answer_leave(self, message: Any) -> None:
        """As the leader, handle another task's notice that a member or a session has left."""
        if not message.key:
            self.groups.close_session(message.session, error_of(message.failure))
            return
        key = message.step, message.key
        round = Round(message.round, 0, message.sequence)
        attempt = Participation(message.device, message.session, round)
        self.groups.leave(key, message.wait, error_of(message.failure), attempt, message.is_own)

    def stop(self) -> None:
        """End all waits at this leader, and the threads of collectives."""
        self.groups.stop()
        self.threads.shutdown()


class PeerWire:
    """The transport of arrays between the members of a collective, through mailboxes and
    connections.
    """

    def __init__(self, peers: CollectivePeers, meeting: Meeting, rank: int) -> None:
        self._peers, self._meeting, self.rank = peers, meeting, rank
        self.size = len(meeting.members)
        self._mailbox: StepMailbox = peers.mailboxes.of(meeting.step)
        self._mailbox.is_running = True

    def send(self, rank: int, name: str, array: Any) -> None:
        """Send a named array to a member, without waiting until it is received."""
        task = self._meeting.members[rank].task
        key = f"{name}:{self.rank}>{rank}"
        self._peers.others.send_tensors(task, self._meeting.step, [key], [array])

    def ask(self, rank: int, name: str) -> Callable[[], Any]:
        """Return a function that waits for a named array from a member and returns it.

        The function raises UnavailableError if the member's server is gone.
        """
        member = self._meeting.members[rank]
        task, others, step = member.task, self._peers.others, self._meeting.step
        key = f"{name}:{rank}>{self.rank}"

        def is_there() -> int:
            try:
                return others.part_state(task, step, member.incarnation)
            except UnavailableError as error:
                raise UnavailableError.of_no_node(
                    f"{task}, a member of a collective, is gone: {error.message}"
                ) from None

        def wait() -> Any:
            messages = self._mailbox.take([key], is_there, self._check, _LOOK_S)
            return others.read_copies(task, messages)[0]

        return wait

    def _check(self) -> None:
        if self._mailbox.failure is not None:
            raise self._mailbox.failure.bare()

    def finish(self) -> None:
        """Drop the mailbox. The caller must ensure that this member has sent and received all its
        arrays.
        """
        self._peers.mailboxes.end(self._meeting.step)


def _write_member(message: Any, member: MeetingMember) -> None:
    message.task, message.session = member.task, member.session
    message.incarnation = member.incarnation
    message.device.extend(member.devices)
    write_segment(message.segment, member.segment)


def _read_member(message: Any) -> MeetingMember:
    segment = read_segment(message.segment)
    devices = tuple(message.device)
    return MeetingMember(message.task, message.session, devices, segment, message.incarnation)


def _write_meeting(message: Any, meeting: Meeting) -> None:
    message.step, message.leader_incarnation = meeting.step, meeting.leader_incarnation
    for member in meeting.members:
        _write_member(message.member.add(), member)


def _read_meeting(message: Any) -> Meeting:
    members = [_read_member(member) for member in message.member]
    return Meeting(message.step, members, message.leader_incarnation)
