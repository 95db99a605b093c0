"""Who can be reached from where, and by which way.

In: directed edges between names. Out: paths. Not its job: what the names stand for.
"""

from collections.abc import Iterable


def shortest_paths(edges: Iterable[tuple[str, str]], start: str) -> dict[str, tuple[str, ...]]:
    """Per name that can be reached, `start` included, a path of the fewest edges.

    Of equally short ones the path along the edges that are named first. Source: breadth-first
    search.
    """
    onward: dict[str, list[str]] = {}
    for source, target in edges:
        onward.setdefault(source, []).append(target)
    paths: dict[str, tuple[str, ...]] = {start: (start,)}
    queue = [start]
    for name in queue:
        for target in onward.get(name, ()):
            if target not in paths:
                paths[target] = (*paths[name], target)
                queue.append(target)
    return paths
