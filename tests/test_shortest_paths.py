"""Shortest paths between names.

In: small graphs. Out: verdicts. Not its job: the graphs of machines.
"""

from isamap.shortest_paths import shortest_paths


def test_of_several_ways_the_one_of_fewest_edges_is_told() -> None:
    edges = (("a", "b"), ("b", "c"), ("a", "c"), ("c", "a"), ("e", "a"))
    assert shortest_paths(edges, "a") == {"a": ("a",), "b": ("a", "b"), "c": ("a", "c")}
    assert shortest_paths(edges, "b")["a"] == ("b", "c", "a")


def test_a_name_without_edges_reaches_itself() -> None:
    assert shortest_paths((), "a") == {"a": ("a",)}
