"""Cut a run of elements into calls of a copy that takes it row by row.

In: how long the run is, how much a row and a call take. Out: calls. Not its job: whether the copy's
rules allow that (`find_transfer`).
"""


def cut_run(count: int, size: int, most_rows: int) -> tuple[tuple[int, int, int], ...]:
    """(number of calls, rows of each, extent of a row): calls of as many whole rows as one takes,
    then one of those that are left, then one of what is left of a row."""
    whole, rest = divmod(count, size)
    full, left = divmod(whole, most_rows)
    pieces = ((full, most_rows, size), (int(left > 0), left, size), (int(rest > 0), 1, rest))
    return tuple(piece for piece in pieces if piece[0])
