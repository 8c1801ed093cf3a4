"""Design spaces: what a model would take on thousands of parts that do not exist, and which of them none other beats."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from charz.schema import user_file
from charz.schema.errors import CharzError, unknown_name

from ..answer import Rows, answer
from ..axes import cache_state, names, one_of, path_of, quantity
from ..core import Core, Question
from ..parameters import Backend, Batch, Cache, Cap, File, Names, Part, Precisions, Sequence_, Text, Top
from ..scoped import Scoped
from . import design_space

OBJECTIVES = {"edp": "edp_js", "latency": "latency_s", "energy": "energy_j"}
"""What the front is ordered by, and its column."""

LIMITS = {
    "power": ("average_power_w", "W"),
    "latency": ("latency_s", "s"),
    "energy": ("energy_j", "J"),
    "memory": ("peak_memory_byte", "byte"),
}
"""What may be limited: column and unit."""

VIEWS = ("target_cost", "busy_pace")
"""Views that the points are made of; what both rest on is evaluated once."""

EQUAL = 1e-9
"""Two times or energies are the same within this share."""

OUTPUTS = ("csv", "json", "parquet")
"""Formats of a file of points, by its suffix."""

_KEYS = ("hardware", "backend", "precision", "batch")
_FOUND = (
    "latency_s", "energy_j", "edp_js", "average_power_w", "limited_by", "limited_fraction", "peak_memory_byte", "fits_device",
)  # fmt: skip
_SHOWN = ("latency_s", "energy_j", "limited_by", "limited_fraction", "edp_js", "average_power_w")


@dataclass(frozen=True, slots=True)
class Limit:
    """The most of something that a point may take."""

    text: str
    column: str
    most: float


class Explore(Core):
    """Questions about design spaces."""

    @answer()
    def explore(
        self,
        *,
        base: Part,
        vary: Annotated[
            design_space.Given,
            Text(
                "NAME=LOW:HIGH, NAME=LOW:HIGH:COUNT or NAME=a,b,c, again for each. NAME is a field of `charz hardware show` or,"
                " of the whole part: tiles or units, clock, a level for its size (l2), dram or LEVEL.bandwidth for its rate.",
                taken=list[str],
            ),
        ],
        models: Annotated[Names, Text("Ingested models; with several a point runs each once.")],
        batch: Batch = None,
        sequence: Sequence_ = None,
        precision: Precisions = None,
        backend: Backend = None,
        cache: Cache = "warm",
        cap: Cap = None,
        objective: Annotated[str, Text("What comes first: edp, latency or energy.")] = "edp",
        limit: Annotated[
            Names | None, Text("power=30W, latency=1ms, energy=5mJ or memory=8GiB, again for each: the most of a run.")
        ] = None,
        top: Top = 50,
        every_point: Annotated[bool, Text("List every point and not the front alone.")] = False,
        out: Annotated[File | None, Text("File of all points with is_front: .parquet, .csv or .json.")] = None,
        picture: Annotated[File | None, Text("Picture of all points: .svg, .png, .pdf, .html or .json.")] = None,
        force: Annotated[bool, Text("Let --out and --picture write over files that charz did not write.")] = False,
    ) -> Rows:
        """List the parts of a design space that no other beats in time and energy, with what limits each; nothing is written.

        Every combination of the values is a copy of the base with these numbers and all that follows from them; what does
        not follow (power limit, idle power) stays. Of points that are equal the one with the smallest numbers is listed.
        """
        column = OBJECTIVES[one_of("objective", objective, OBJECTIVES)]
        limits = [_limit(text) for text in names(limit)]
        out, picture = path_of(out), path_of(picture)
        for file in (out, picture):
            if file is not None:
                user_file.check(file, force)
        _check_output(out)
        part = self.part_name(base)
        designs = design_space.design_space(self.connection(), part, vary)
        question = Question(
            names(models),
            [part],
            precisions=names(precision),
            backends=[backend] if backend else [],
            caps=[cap] if cap else [],
            runs=[{"batch": batch or 1, "sequence": sequence}],
            fields={"cache_state": cache_state(cache)},
        )
        scoped = self.asked(question, "model_report")
        self._say_kept(scoped, part)
        points = self._points(scoped, designs)
        front = _marked(points, limits)
        found = sorted(points if every_point else front, key=lambda point: (point[column] is None, point[column]))
        if out is not None:
            _write(out, points, force)
        if picture is not None:
            self._draw(picture, points, front, f"{part}: {', '.join(names(models))}", force)
        varied = tuple(axis.column for axis in designs.axes)
        shown = tuple(k for k in _KEYS[1:] if len({point[k] for point in points}) > 1)
        columns = (
            "point",
            *varied,
            *shown,
            *(_FOUND if every_point else _SHOWN),
            *(("is_front",) if every_point else ()),
        )
        parts = len(designs.points)
        self.messages.remark(f"{parts} parts, {len(points)} points, {sum(p['is_front'] for p in points)} on the front")
        rows = Rows(columns, [[point[name] for name in columns] for point in found], VIEWS)
        return rows if every_point else self.cut(rows, top, "points of the front")

    def _say_kept(self, scoped: Scoped, part: str) -> None:
        """Say which numbers decide energies and do not follow what is varied."""
        query = "SELECT tdp_w, static_w FROM part WHERE hardware = ?"
        ((tdp, static),) = scoped.execute(query, [part]).fetchall()
        if static is None:
            raise CharzError("the energy of this part is not known", part, next="explore another part")
        limit = "no power limit" if tdp is None else f"a power limit of {tdp:g} W"
        self.messages.remark(
            f"every part keeps {limit} and, unless a rule says otherwise, {static:.3g} W of static power"
        )

    def _points(self, scoped: Scoped, designs: design_space.DesignSpace) -> list[dict[str, Any]]:
        """Every part of the space under every backend and precision, portion by portion."""
        from charz.sql.evaluate import KERNELS_AT_ONCE

        kernels = scoped.value("SELECT COUNT(*) FROM run_kernel")
        found: list[dict[str, Any]] = []
        numbered = list(enumerate(designs.points, start=1))
        at_once = max(1, KERNELS_AT_ONCE // max(kernels, 1))
        with self.messages.progress("parts", math.ceil(len(numbered) / at_once)) as done:
            for start in range(0, len(numbered), at_once):
                portion = dict(numbered[start : start + at_once])
                found += self._portion(scoped, designs, portion)
                done(f"{start + len(portion)} parts")
        return found

    def _portion(
        self, scoped: Scoped, designs: design_space.DesignSpace, portion: Mapping[int, tuple[float, ...]]
    ) -> Iterator[dict[str, Any]]:
        from charz.sql import evaluate

        targets = scoped.execute("SELECT backend, precision FROM part_support").fetchall()
        scenarios = scoped.records("SELECT * FROM scenario")
        models = [model for (model,) in scoped.execute("SELECT model FROM model").fetchall()]
        copies = {f"{designs.base}#{number}": number for number in portion}
        with self.cursor() as cursor:
            known = {number for (number,) in cursor.execute("SELECT scenario_id FROM scenario").fetchall()}
            scope = evaluate.Scope(
                models=models,
                hardware=list(copies),
                targets=[(copy, *target) for copy in copies for target in targets],
                scenarios=scenarios,
                stored=known,
                copies=[evaluate.Copies(designs.base, list(copies), designs.varied(list(portion.values())))],
            )
            if self.access.engine:
                found = _summed(self.scoped_on(cursor, scope))
            else:
                found = [point for _ in evaluate.evaluated(cursor, scope, VIEWS) for point in _summed(Scoped(cursor))]
        for point in found:
            number = copies[point["hardware"]]
            varied_to = {axis.column: value for axis, value in zip(designs.axes, portion[number], strict=True)}
            yield {"point": number, **varied_to, **point}

    def _draw(
        self,
        picture: Path,
        points: Sequence[Mapping[str, Any]],
        front: Sequence[Mapping[str, Any]],
        title: str,
        force: bool,
    ) -> None:
        from ..ask import charts

        charts.library()
        columns = ("point", "precision", "latency_s", "energy_j", "limited_by")
        drawn, named = (
            [{name: point[name] for name in columns} for point in rows if point["latency_s"] is not None]
            for rows in (points, front)
        )
        charts.save(charts.explored(drawn, named, title), picture, force)


def _summed(scoped: Scoped) -> list[dict[str, Any]]:
    """Every part under every backend and precision, with all models run once one after another. What limits it is what sets the
    pace for the largest part of the time."""
    paces: dict[tuple[Any, ...], dict[str, float]] = {}
    order = f"ORDER BY {', '.join(_KEYS)}, model"
    for row in scoped.records(f"SELECT * FROM busy_pace {order}, pace"):
        times = paces.setdefault(tuple(row[name] for name in _KEYS), {})
        times[row["pace"]] = times.get(row["pace"], 0.0) + row["pace_s"]
    runs: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in scoped.records(f"SELECT * FROM target_cost {order}"):
        runs.setdefault(tuple(row[name] for name in _KEYS), []).append(row)
    return [
        {**dict(zip(_KEYS, key, strict=True)), **_point(members, paces.get(key, {}))} for key, members in runs.items()
    ]


def _point(runs: Sequence[Mapping[str, Any]], paces: dict[str, float]) -> dict[str, Any]:
    held = {
        "peak_memory_byte": max(run["peak_memory_byte"] for run in runs),
        "fits_device": all(run["fits_device"] for run in runs),
    }
    if any(run["latency_s"] is None or run["energy_j"] is None for run in runs):
        return {**dict.fromkeys(_FOUND), **held}
    latency, energy, overhead = (sum(run[name] for run in runs) for name in ("latency_s", "energy_j", "overhead_s"))
    limit, longest = max({**paces, "overhead": overhead}.items(), key=lambda pair: pair[1])
    return {
        "latency_s": latency,
        "energy_j": energy,
        "edp_js": energy * latency,
        "average_power_w": energy / latency,
        "limited_by": limit,
        "limited_fraction": longest / latency,
        **held,
    }


def _limit(text: str) -> Limit:
    name, sign, amount = text.partition("=")
    if not sign:
        raise CharzError("not a limit", text, next="write e.g. --limit power=30W")
    if name not in LIMITS:
        raise unknown_name("limit", name, LIMITS)
    column, unit = LIMITS[name]
    return Limit(text, column, quantity(amount, unit, name))


def _check_output(out: Path | None) -> None:
    if out is not None and out.suffix.lower().lstrip(".") not in OUTPUTS:
        raise CharzError("unknown format of a file", out.name, f"there are {', '.join(OUTPUTS)}")


def _marked(points: Sequence[dict[str, Any]], limits: Sequence[Limit]) -> list[dict[str, Any]]:
    """The front, each of equal points once; every point is told whether it is on it. Raises `CharzError` where no point meets
    the limits."""
    able = [p for p in points if p["energy_j"] is not None and p["fits_device"]]
    if not able:
        raise CharzError(
            "no part of this space runs the models", next="vary less: memories too small for a tile, or for them"
        )
    within = [p for p in able if all(p[limit.column] <= limit.most for limit in limits)]
    if not within:
        least = "; ".join(f"{limit.column} is at least {min(p[limit.column] for p in able):.3g}" for limit in limits)
        raise CharzError("no part meets the limits", ", ".join(limit.text for limit in limits), least)
    for point in points:
        point["is_front"] = False
    front: list[dict[str, Any]] = []
    for point in sorted(within, key=lambda p: (p["latency_s"], p["energy_j"])):
        last = front[-1] if front else None
        if last is None or point["energy_j"] < last["energy_j"] * (1 - EQUAL):
            front.append(point)
            point["is_front"] = True
        elif _is_same(point, last):
            point["is_front"] = True
            front[-1] = min(last, point, key=lambda p: p["point"])
    return front


def _is_same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return all(math.isclose(one[name], other[name], rel_tol=EQUAL) for name in ("latency_s", "energy_j"))


def _write(out: Path, points: Sequence[Mapping[str, Any]], force: bool) -> None:
    """Every point in the format of the file's suffix."""
    import io

    import polars as pl

    frame = pl.DataFrame(list(points), infer_schema_length=None)
    buffer = io.BytesIO()
    writers: dict[str, Callable[[io.BytesIO], object]] = {
        "csv": frame.write_csv,
        "json": frame.write_json,
        "parquet": frame.write_parquet,
    }
    writers[out.suffix.lower()[1:]](buffer)
    user_file.write(out, buffer.getvalue(), force)
