"""Addition of a user's tile to the candidate tiles of kernels."""

from __future__ import annotations

import re

from charz.schema.errors import CharzError

from ..scoped import Scoped

SIZES = re.compile(r"(\d{1,6})x(\d{1,6})x(\d{1,6})")
"""Rows, columns and depth of a tile."""


def sizes(text: str) -> tuple[int, int, int]:
    """Parse rows, columns and depth of a tile such as `64x64x64`. Raise `CharzError` for other texts and sizes of 0."""
    found = SIZES.fullmatch(text)
    rows, columns, depth = map(int, found.groups()) if found else (0, 0, 0)
    if 0 in (rows, columns, depth):
        raise CharzError("not a tile", text, next="write rows x columns x depth, e.g. 64x64x64")
    return rows, columns, depth


def offer(scoped: Scoped, text: str) -> int:
    """Add a tile to the candidates of a part and return the tile's number. The other constants are those of the first candidate of the part's family."""
    from charz.sql.installed import relations
    from charz.sql.scopes import stored

    rows, columns, depth = sizes(text)
    scoped.prepared("arithmetic_tile")
    connection = scoped.prepared("part")
    strategies = stored(connection, "tiling_strategy")
    query = f"""
        SELECT family, MIN(candidate), (SELECT MAX(candidate) + 1 FROM {strategies})
        FROM part_strategy
        WHERE dataflow NOT IN ('direct', 'query_block')
        GROUP BY family
    """
    ((family, first, number),) = connection.execute(query).fetchall()
    connection.execute(
        f"""
        CREATE TEMP TABLE tiling_strategy AS
        SELECT * FROM {strategies}
        UNION ALL
        SELECT * REPLACE (
            'by hand' AS strategy, {number} AS candidate, {rows} AS tile_m, {columns} AS tile_n, {depth} AS tile_k,
            1 AS divisor, 1 AS split_k
        )
        FROM {strategies}
        WHERE family = ? AND candidate = ?
        """,
        [family, first],
    )
    (body,) = (relation.body for relation in relations(connection) if relation.name == "arithmetic_tile")
    connection.execute(f"INSERT INTO temp.arithmetic_tile BY NAME SELECT * FROM ({body}) WHERE candidate = {number}")
    return int(number)
