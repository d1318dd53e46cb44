"""The result of `Checkpoint.restore`. Its methods check the matches and restore the values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from gpugraph.building.trackable.tracked_containers import identity_of
from gpugraph.building.variables import Variable
from gpugraph.graph.client.default_graph_functions import get_default_session
from gpugraph.library.train.object_checkpoints.object_graph import ObjectGraph, object_names
from gpugraph.library.train.object_checkpoints.object_restore import ObjectRestore, next_restore
from gpugraph.library.train.savers.checkpoint_reading import NewCheckpointReader
from gpugraph.library.train.savers.saveable_objects import op_list_to_dict, saveables_of
from gpugraph.library.train.savers.saver import Saver

_SESSION_PROVIDERS: list[Callable[[], Any]] = []


def register_session_provider(provide: Callable[[], Any]) -> None:
    """Register a function that returns a session or None. It is called if there is no default
    session.
    """
    _SESSION_PROVIDERS.append(provide)


def session_or_default(session: Any, action: str) -> Any:
    """Return `session`. If it is None, return the default session. If there is no default session,
    return the session of a provider.

    Raises RuntimeError if there is no session.

    Args:
      action: the action for which a session is needed. The error's message contains it.
    """
    for provide in (lambda: session, get_default_session, *_SESSION_PROVIDERS):
        chosen = provide()
        if chosen is not None:
            return chosen
    text = f"Unable to {action} in graph mode without a default session."
    raise RuntimeError(f"{text} Please use `with tf.Session():` to create a session.")


def _initialize(root: Any, before: int, session: Any, restored: Iterable[int] = ()) -> None:
    """Initialize the objects below `root` that have not been restored.

    Args:
      before: the number of a restore. Objects that this restore or a later restore has set are
        treated as restored.
      restored: the `id`s of additional objects that have been restored.
    """
    known = set(restored)
    items = [node.item for node in ObjectGraph(root).nodes]
    session.run(
        [
            item.initializer
            for item in items
            if getattr(item, "initializer", None) is not None
            and identity_of(item) not in known
            and item._update_uid < before
        ]
    )


class LoadStatus:
    """Base class of the results of `Checkpoint.restore`. Methods check the matches or restore the
    values.

    A method that checks returns the status itself, or raises AssertionError.
    """

    def expect_partial(self) -> Any:
        """Return the status itself, because this class does not warn of partial matches."""
        return self


class CheckpointLoadStatus(LoadStatus):
    """The result of `restore` for a checkpoint of objects.

    Args:
      restores: all restores of the same root. New objects are matched with the latest restore
        first.
    """

    def __init__(self, restore: ObjectRestore, restores: Iterable[ObjectRestore]) -> None:
        self._restore, self._restores = restore, restores

    def _match(self) -> ObjectRestore:
        for restore in sorted(self._restores, key=lambda item: -item.number):
            restore.match()
        return self._restore

    def expect_partial(self) -> Any:
        """Suppress warnings about unused values in the checkpoint, and return the status itself."""
        self._restore.expects_partial = True
        return self

    def assert_consumed(self) -> Any:
        """Raise AssertionError unless each object of the checkpoint matches an object of the
        program, and each object of the program with a value matches an object of the checkpoint.
        """
        self.assert_existing_objects_matched()
        restore = self._restore
        names = object_names(restore.graph)
        for number in restore.unmatched():
            node = restore.graph.nodes[number]
            raise AssertionError(f"Unresolved object in checkpoint {names[number]}: {node}")
        if restore.unused:
            unused = [
                f"{names[number]} ({restore.objects[number]}): {attributes}"
                for number, attributes in restore.unused.items()
            ]
            raise AssertionError(
                "Unused attributes in these objects (the attributes exist in the checkpoint but "
                "not in the objects):\n" + "\n".join(unused)
            )
        return self

    def assert_existing_objects_matched(self) -> Any:
        """Raise AssertionError if an object of the program has no value in the checkpoint."""
        restore = self._match()
        for number, item in restore.objects.items():
            if item._update_uid < restore.number:
                raise AssertionError(
                    f"Object not assigned a value from checkpoint: {restore.graph.nodes[number]}"
                )
        if unmatched := self._unmatched():
            text = "Some Python objects were not bound to checkpointed values, likely due to"
            raise AssertionError(f"{text} changes in the Python program: {unmatched}")
        return self

    def _unmatched(self) -> list[Any]:
        """Return the objects that have values in the program, but not in the checkpoint."""
        matched = {identity_of(item) for item in self._restore.objects.values()}
        items = (node.item for node in ObjectGraph(self._restore.root).nodes)
        others = (item for item in items if identity_of(item) not in matched)
        return [item for item in others if item._gather_saveables_for_checkpoint()]

    def assert_nontrivial_match(self) -> Any:
        """Raise AssertionError if no object except the root object matches."""
        restore = self._match()
        if len(restore.objects) > 1:
            return self
        if unmatched := self._unmatched():
            text = "Nothing except the root object matched a checkpointed value. Typically this "
            text += "means that the checkpoint does not match the Python program."
            raise AssertionError(
                f"{text} The following objects have no matching checkpointed value: {unmatched}"
            )
        text = f"No dependencies have been added to {restore.root} yet."
        raise AssertionError(f"Nothing to load. {text}")

    def run_restore_ops(self, session: Any = None) -> None:
        """Restore the values that match. They are restored in `session`, by default the default
        session.
        """
        session = session_or_default(session, f'restore "{self._restore.path}"')
        self._match().run(session)

    def restore_new(self, session: Any) -> None:
        """Restore the values of objects that were added since the last restore. They are restored
        in `session`.
        """
        self._match().run(session, only_new=True)

    def initialize_or_restore(self, session: Any = None) -> None:
        """Restore the values that match, and initialize the objects that have no match."""
        session = session_or_default(session, f'restore "{self._restore.path}"')
        restore = self._match()
        restore.run(session)
        matched = [identity_of(item) for item in restore.objects.values()]
        _initialize(restore.root, restore.number, session, matched)


class InitializationOnlyStatus(LoadStatus):
    """The result of `restore(None)`. Objects can only be initialized, and all checks fail."""

    def __init__(self, root: Any) -> None:
        self._root, self._number = root, next_restore()

    def assert_consumed(self) -> Any:
        """Raise AssertionError, because there is no checkpoint."""
        raise AssertionError("No checkpoint specified (save_path=None); nothing is being restored.")

    assert_existing_objects_matched = assert_nontrivial_match = assert_consumed

    def run_restore_ops(self, session: Any = None) -> None:
        """Raise AssertionError, because there is no checkpoint."""
        raise AssertionError(
            "No checkpoint specified, so no restore ops are available (save_path=None to "
            "Saver.restore)."
        )

    def initialize_or_restore(self, session: Any = None) -> None:
        """Initialize the objects. They are initialized in `session`, by default the default
        session.
        """
        session = session_or_default(session, "initialize the objects of a checkpoint")
        _initialize(self._root, self._number, session)


class NameBasedSaverStatus(LoadStatus):
    """The result of `restore` for a checkpoint of a `tf.train.Saver`. Variables are matched by
    name.

    Variables that are passed to `add_to_optionally_restored` need not be in the checkpoint.
    """

    def __init__(self, root: Any, path: str) -> None:
        self._root, self._path, self._number = root, path, next_restore()
        self._optional: list[Any] = []

    def add_to_optionally_restored(self, variable: Any) -> None:
        """Mark a variable as optional, so that it need not be in the checkpoint.

        If it is missing in the checkpoint, it is initialized.
        """
        self._optional.append(variable)

    def assert_consumed(self) -> Any:
        """Raise AssertionError unless all variables except the optional ones are restored."""
        for node in ObjectGraph(self._root).nodes:
            if not isinstance(node.item, Variable) or node.item in self._optional:
                continue
            if node.item._update_uid < self._number:
                raise AssertionError(f"Object not restored: {node.item}")
        return self

    assert_existing_objects_matched = assert_nontrivial_match = assert_consumed

    def run_restore_ops(self, session: Any = None) -> None:
        """Restore all variables below the root by their names.

        Raises NotFoundError if a variable is not in the checkpoint.
        """
        session = session_or_default(session, f'restore "{self._path}"')
        reader = NewCheckpointReader(self._path)
        saveables: list[Any] = []
        absent = []
        for node in ObjectGraph(self._root).nodes:
            if node.item._update_uid >= self._number:
                continue
            node.item._update_uid = self._number
            if node.item in self._optional and not reader.has_tensor(node.item.op.name):
                absent.append(node.item.initializer)
                continue
            for _, _, value in node.attributes():
                saveables += _saveables_by_name(value)
        if saveables:
            Saver(saveables).restore(session, self._path)
        session.run(absent)

    def initialize_or_restore(self, session: Any = None) -> None:
        """Restore the variables as `run_restore_ops` does."""
        self.run_restore_ops(session)


def _saveables_by_name(value: Any) -> list[Any]:
    """Return the saveables of a variable, or of a function that returns a saveable.

    They have the names that a `tf.train.Saver` uses. If the function requires a name, the list is
    empty.
    """
    if callable(value) and not isinstance(value, Variable):
        try:
            value = value()
        except TypeError:
            return []
    return saveables_of(op_list_to_dict([value]))
