"""Who can be reached from where, and by which way.

In: directed edges between names. Out: paths. Not its job: what the names stand for.
"""

from collections.abc import Hashable, Iterable
from typing import TypeVar

Name = TypeVar("Name", bound=Hashable)


def shortest_paths(edges: Iterable[tuple[Name, Name]], start: Name) -> dict[Name, tuple[Name, ...]]:
    """Per name that can be reached, `start` included, a path of the fewest edges.

    Of equally short ones the path along the edges that are named first. Source: breadth-first
    search.
    """
    onward: dict[Name, list[Name]] = {}
    for source, target in edges:
        onward.setdefault(source, []).append(target)
    paths: dict[Name, tuple[Name, ...]] = {start: (start,)}
    queue = [start]
    for name in queue:
        for target in onward.get(name, ()):
            if target not in paths:
                paths[target] = (*paths[name], target)
                queue.append(target)
    return paths
