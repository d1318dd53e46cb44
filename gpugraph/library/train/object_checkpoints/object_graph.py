"""The objects below a root, breadth first, and their names in a checkpoint."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from gpugraph.building.trackable.tracked_containers import identity_of
from gpugraph.building.variables import Variable
from gpugraph.formats import messages_pb2
from gpugraph.library.train.savers.saveable_objects import SaveableObject, saveables_of


def escaped(name: str) -> str:
    """Return a name as one component of a checkpoint key: "." becomes "..", and "/" becomes
    ".S".
    """
    return name.replace(".", "..").replace("/", ".S")


@dataclass
class ObjectNode:
    """An object, and its references to other nodes of an ObjectGraph.

    Args:
      path: the prefix of the keys of the object's values.
      children: (name, number of the node) of each object that this object references.
      slots: for an optimizer, (number of the variable's node, name of the slot, number of the
        slot's node) of each slot.
    """

    item: Any
    path: str
    children: list[tuple[str, int]] = field(default_factory=list)
    slots: list[tuple[int, str, int]] = field(default_factory=list)

    def attributes(self) -> Iterator[tuple[str, str, Any]]:
        """Yield (name, key in the checkpoint, value) for each value of the object. A value is a
        variable or a function that creates a saveable.
        """
        for name, value in self.item._gather_saveables_for_checkpoint().items():
            yield name, f"{self.path}/.ATTRIBUTES/{escaped(name)}", value


class ObjectGraph:
    """The objects that are reachable from `root` at the time of construction.

    `nodes` lists the objects. The index of an object in the list is the object's number. The root
    has number 0. Slots of optimizers are last.
    """

    def __init__(self, root: Any) -> None:
        self.nodes: list[ObjectNode] = []
        self._numbers: dict[int, int] = {}
        if not hasattr(root, "_checkpoint_dependencies"):
            raise TypeError(f"Expected an object that checkpoints follow, got {root!r:.200}")
        waiting = deque([self._enter(root, "")])
        while waiting:
            node = waiting.popleft()
            for name, item in node.item._checkpoint_dependencies:
                number = self._numbers.get(identity_of(item))
                if number is None:
                    path = f"{node.path}/{escaped(name)}" if node.path else escaped(name)
                    waiting.append(self._enter(item, path))
                    number = len(self.nodes) - 1
                node.children.append((name, number))
        self._enter_slots()

    def _enter(self, item: Any, path: str) -> ObjectNode:
        node = ObjectNode(item, path)
        self._numbers[identity_of(item)] = len(self.nodes)
        self.nodes.append(node)
        return node

    def _enter_slots(self) -> None:
        """Add the slots of optimizers to the graph.

        Raises NotImplementedError if another object references a slot.
        """
        known = list(self.nodes)
        variables = [node for node in known if isinstance(node.item, Variable)]
        for node in known:
            if not has_slots(node.item):
                continue
            for slot_name in node.item.get_slot_names():
                for variable in variables:
                    slot = slot_of(node.item, variable.item, slot_name)
                    if slot is None:
                        continue
                    if id(slot) in self._numbers:
                        raise NotImplementedError(
                            "A slot variable was re-used as a dependency of a Trackable object: "
                            f"{slot}. This is not currently allowed."
                        )
                    path = f"{variable.path}/.OPTIMIZER_SLOT/{node.path}/{escaped(slot_name)}"
                    self._enter(slot, path)
                    number = self._numbers[id(variable.item)]
                    node.slots.append((number, slot_name, len(self.nodes) - 1))

    def message(self) -> Any:
        """Return the TrackableObjectGraph message that describes the nodes."""
        message = messages_pb2.TrackableObjectGraph()
        for node in self.nodes:
            entry = message.nodes.add()
            for name, number in node.children:
                entry.children.add(node_id=number, local_name=name)
            for name, key, _ in node.attributes():
                entry.attributes.add(name=name, full_name=full_name(node.item), checkpoint_key=key)
            for variable, slot_name, number in node.slots:
                entry.slot_variables.add(
                    original_variable_node_id=variable,
                    slot_name=slot_name,
                    slot_variable_node_id=number,
                )
        return message

    def saveables(self) -> list[SaveableObject]:
        """Return the saveables of all values. The name of each saveable is its key."""
        return [
            saveable
            for node in self.nodes
            for _, key, value in node.attributes()
            for saveable in saveables_named(value, key)
        ]


def object_names(graph: Any) -> dict[int, str]:
    """Return a dict from the numbers of a graph's objects to readable names, such as
    `(root).model.kernel`.
    """
    names, waiting = {0: "(root)"}, deque([0])
    while waiting:
        number = waiting.popleft()
        for child in graph.nodes[number].children:
            if child.node_id not in names:
                names[child.node_id] = f"{names[number]}.{child.local_name}"
                waiting.append(child.node_id)
    for number, node in enumerate(graph.nodes):
        for slot in node.slot_variables:
            optimizer = names.get(number, number)
            variable = names.get(slot.original_variable_node_id, slot.original_variable_node_id)
            name = f"{optimizer}'s state '{slot.slot_name}' for {variable}"
            names.setdefault(slot.slot_variable_node_id, name)
    return {number: names.get(number, f"object {number}") for number in range(len(graph.nodes))}


def list_objects(root_trackable: Any) -> list[Any]:
    """Return all objects that a checkpoint of this root contains, slots of optimizers included."""
    return [node.item for node in ObjectGraph(root_trackable).nodes]


def has_slots(item: Any) -> bool:
    """Return whether `item` is an optimizer, which has slots for variables."""
    return hasattr(item, "get_slot_names") and hasattr(item, "get_slot")


def slot_of(optimizer: Any, variable: Any, slot_name: str) -> Any:
    """Return the slot of `variable` in an optimizer, or None."""
    try:
        return optimizer.get_slot(variable, slot_name)
    except KeyError:  # raised by Keras's optimizers
        return None


def full_name(item: Any) -> str:
    """Return the name by which a `tf.train.Saver` saves a variable. For any other object, return
    "".
    """
    if not isinstance(item, Variable):
        return ""
    place = item._get_save_slice_info()
    return (place.full_name or "") if place is not None else item._shared_name


def saveables_named(value: Any, key: str) -> list[SaveableObject]:
    """Return the saveables of `value`. Their name in the checkpoint is `key`.

    Args:
      value: a variable, a SaveableObject, or a function that returns one of these for `name=key`.
    """
    if callable(value) and not isinstance(value, Variable):
        value = value(name=key)
    if isinstance(value, SaveableObject):
        return [value]
    return saveables_of({key: value})
