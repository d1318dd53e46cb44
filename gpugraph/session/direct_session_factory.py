"""The factory of DirectSession, for the empty target, and the handling of forks."""

from __future__ import annotations

from gpugraph.config import SessionOptions
from gpugraph.plan import Plan
from gpugraph.session.direct_session import SESSIONS, DirectSession
from gpugraph.session.forks import at_forks
from gpugraph.session.session_factory import SessionFactory


class DirectSessionFactory:
    """Creates sessions for the empty target."""

    def accepts_options(self, options: SessionOptions) -> bool:
        """Return whether the options' target is empty, which means this process."""
        return options.target == ""

    def new_session(self, options: SessionOptions) -> DirectSession:
        """Return a session on this process's devices."""
        return DirectSession(options)


SessionFactory.register("DIRECT_SESSION", DirectSessionFactory())


def _plans_of_all() -> list[Plan]:
    """Return the plans of all sessions without a GPU, since only these can run in a forked
    child.
    """
    sessions = [session for session in list(SESSIONS) if not session.has_gpu]
    return [plan for session in sessions for plan in session.plans.all()]


def _after_fork() -> None:
    for session in list(SESSIONS):
        session.after_fork()


at_forks(_plans_of_all, _after_fork)
