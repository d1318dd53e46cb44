"""The registry of session factories. It finds the factory that creates sessions for a target.

A factory has `accepts_options(options)` and `new_session(options)`. Exactly one registered factory
must accept the options of a session. DirectSession's factory accepts the target `''`.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Protocol

from gpugraph.base.errors import InternalError, NotFoundError
from gpugraph.base.fork_safe_locks import new_lock
from gpugraph.config import SessionOptions
from gpugraph.session.session_backend import SessionBackend

_LOG = logging.getLogger("gpugraph")


class SupportsNewSession(Protocol):
    """The interface of a session factory."""

    def accepts_options(self, options: SessionOptions) -> bool:
        """Return whether this factory creates sessions for these options."""

    def new_session(self, options: SessionOptions) -> SessionBackend:
        """Return a session backend for these options."""


DEFERRED = {"GRPC_SESSION": ("grpc://", "gpugraph.cluster.client.grpc_session")}
"""For the name of a factory: the prefix of its targets, and the module that registers it. The
module is imported when the first such target is used.
"""


class SessionFactory:
    """The process's registry of factories. A factory is registered under the name of its kind of
    session, such as "DIRECT_SESSION".
    """

    _factories: dict[str, SupportsNewSession] = {}  # noqa: RUF012
    _lock = new_lock()

    @classmethod
    def register(cls, runtime_type: str, factory: SupportsNewSession) -> None:
        """Register a factory under a name. If the name is already registered, log an error and keep
        the existing factory.
        """
        with cls._lock:
            if runtime_type in cls._factories:
                _LOG.error("Two session factories are being registered under %s", runtime_type)
                return
            cls._factories[runtime_type] = factory

    @classmethod
    def unregister(cls, runtime_type: str) -> None:
        """Remove a factory. Raises NotFoundError if no factory has this name."""
        with cls._lock:
            if cls._factories.pop(runtime_type, None) is None:
                raise NotFoundError.of_no_node(f"No session factory of type {runtime_type}")

    @classmethod
    def get_factory(cls, options: SessionOptions) -> SupportsNewSession:
        """Return the only factory that accepts the options.

        Raises NotFoundError if no factory accepts them, and InternalError if several do.
        """
        for prefix, module in DEFERRED.values():
            if options.target.startswith(prefix):
                import_module(module)
        with cls._lock:
            factories = dict(cls._factories)
        accepting = [
            name for name, factory in factories.items() if factory.accepts_options(options)
        ]
        if len(accepting) == 1:
            return factories[accepting[0]]
        wanted = f'{{target: "{options.target}" config: {options.config}}}'
        names = sorted({*factories, *DEFERRED})
        known = f"Registered factories are {{{', '.join(names)}}}."
        if not accepting:
            raise NotFoundError.of_no_node(
                f"No session factory registered for the given session options: {wanted} {known}"
            )
        raise InternalError.of_no_node(
            f"Multiple session factories registered for the given session options: {wanted} "
            f"Candidate factories are {{{', '.join(sorted(accepting))}}}. {known}"
        )

    @classmethod
    def reset(cls, options: SessionOptions, containers: Sequence[str]) -> bool:
        """Clear resource containers and end sessions at the target, if the factory for the target
        supports this.

        Return whether the factory supports it, which means that it has a method `reset(options,
        containers)`. Raises the errors of `get_factory`.
        """
        reset: Any = getattr(cls.get_factory(options), "reset", None)
        if reset is not None:
            reset(options, list(containers))
        return reset is not None

    @classmethod
    def new_session(cls, options: SessionOptions) -> SessionBackend:
        """Return a session backend for these options. Raises InternalError if the factory returns
        None.
        """
        factory = cls.get_factory(options)
        session: Any = factory.new_session(options)
        if not isinstance(session, SessionBackend):
            raise InternalError.of_no_node(
                f"{type(factory).__name__}.new_session returned no SessionBackend for the target "
                f'"{options.target}", but {session!r}'
            )
        return session
