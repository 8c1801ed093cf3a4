"""The command that evaluates models on every part of a design space, and lists the Pareto front."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from charz.schema import user_file
from charz.schema.errors import CharzError, unknown_name

from ..answer import Rows, answer
from ..axes import cache_state, names, one_of, path_of, quantity
from ..catalog.hardware import warn
from ..core import Core
from ..parameters import Backend, Batch, Cache, Cap, File, Names, Part, Precisions, Sequence_, Text, Top
from ..question import Question, header
from ..scoped import Scoped
from . import design_space, front_moves
from .design_point import BAND, FOUND, KEYS, MADE, VIEWS, evaluated_points
from .elasticity import numbers

OBJECTIVES = {
    "edp": "edp_js", "latency": "latency_s", "energy": "energy_j", "area": "area_mm2", "rest": "rest_w", "usd": "part_usd",
}  # fmt: skip
"""Objectives to minimize, each with its column."""

FRONT = ("latency", "energy")
"""Default objectives of the front."""

MOST_OBJECTIVES = 3
"""Largest number of objectives of a front: with more, hardly any point is dominated."""

LIMITS = {
    "power": ("average_power_w", "W"),
    "latency": ("latency_s", "s"),
    "energy": ("energy_j", "J"),
    "memory": ("peak_memory_byte", "byte"),
    "area": ("area_mm2", "mm2"),
    "rest": ("rest_w", "W"),
    "usd": ("part_usd", "USD"),
}
"""Names of limits, each with its column and unit."""

EQUAL = 1e-9
"""Relative difference below which two values are equal."""

OUTPUTS = ("csv", "json", "parquet")
"""Formats of a file of points, by suffix."""

Weights = Mapping[str, float] | Sequence[str] | str
"""Mapping of models to weights, or texts `MODEL=NUMBER`."""

_SHOWN = ("latency_s", "energy_j", "limited_by", "limited_fraction", "edp_js", "average_power_w")


@dataclass(frozen=True, slots=True)
class Limit:
    """Upper limit of a column."""

    text: str
    column: str
    most: float


class Explore(Core):
    """Exploration of design spaces."""

    @answer(
        common=("base", "vary", "models", "batch", "precision", "objective", "limit", "sensitivity", "top", "out", "picture"),
    )
    def explore(
        self,
        *,
        base: Part,
        vary: Annotated[
            design_space.Given,
            Text(
                "Number to vary: NAME=LOW:HIGH, NAME=LOW:HIGH:COUNT or NAME=a,b,c; repeatable. NAME is a field of `charz hardware show`, or"
                " a short name for the whole part: tiles or units (their number), clock, array (side, or ROWSxCOLUMNS; peaks follow), dataflow (ws, os, is or"
                " df), LEVEL (size of a memory level, e.g. l2, of all units together), dram or LEVEL.bandwidth, or memory (kind x channels, e.g. LPDDR5x4).",
                taken=list[str],
            ),
        ],
        models: Annotated[Names, Text("Ingested models; with several models, a point runs each model once.")],
        weight: Annotated[
            Weights | None,
            Text(
                "Weight of a model, MODEL=NUMBER (default 1); repeatable. Time and energy are then weighted geometric means over the"
                " models, not sums.",
                taken=list[str],
            ),
        ] = None,
        batch: Batch = None,
        sequence: Sequence_ = None,
        precision: Precisions = None,
        backend: Backend = None,
        cache: Cache = "warm",
        cap: Cap = None,
        by: Annotated[
            Names, Text("Objectives of the Pareto front, up to three of latency, energy, edp, area, rest (idle power) and usd.")
        ] = FRONT,
        objective: Annotated[str, Text("Objective that orders the rows.")] = "edp",
        limit: Annotated[
            Names | None,
            Text(
                "Upper limit, repeatable: power=30W (lowers the clock of a part that would draw more), latency=1ms, energy=5mJ,"
                " memory=8GiB, area=400mm2, rest=2W (idle power) or usd=500."
            ),
        ] = None,
        top: Top = 50,
        every_point: Annotated[bool, Text("List every point in place of the front.")] = False,
        sensitivity: Annotated[
            bool, Text("List the effect of doubling each number of the part on the front, the largest effect first.")
        ] = False,
        out: Annotated[File | None, Text("File to write all points to, with a column is_front: .parquet, .csv or .json.")] = None,
        picture: Annotated[File | None, Text("File to draw all points into: .svg, .png, .pdf, .html or .json.")] = None,
        force: Annotated[bool, Text("Allow --out and --picture to overwrite files that charz did not write.")] = False,
    ) -> Rows:
        """Evaluate models on every part of a design space, and list the parts on the Pareto front of the objectives.

        Every combination of the varied values is a hypothetical copy of the base part. Derived numbers follow, including area, idle power
        and dollars (`part_cost`: manufacturing cost without margin); stated numbers such as power limit and idle power stay. Nothing is
        written to the database. Of equal points, the point with the smallest numbers is listed. --sensitivity doubles every number of the
        part, one at a time, at up to 12 points of the front. It lists the geometric mean of doubled / unchanged time, energy and costs, and
        the number of points that stay undominated.
        """
        if sensitivity and every_point:
            raise CharzError("two lists at once", "--sensitivity and --every-point", next="ask for one of them")
        column = OBJECTIVES[one_of("objective", objective, OBJECTIVES)]
        objectives = _objectives(by)
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
            caps=_caps(cap, limits),
            runs=[{"batch": batch or 1, "sequence": sequence}],
            fields={"cache_state": cache_state(cache)},
        )
        scoped = self.asked(question, "model_report")
        self._say_kept(scoped, part)
        for line in design_space.told(self.connection(), designs):
            self.messages.remark(line)
        points = self._points(scoped, designs, _weights(scoped, weight))
        best = _marked(points, limits, objectives)
        found = sorted(points if every_point else best, key=lambda point: (point[column] is None, point[column]))
        if out is not None:
            _write(out, points, force)
        varied = tuple(name for axis in designs.axes for name in axis.shown(axis.values[0]))
        if picture is not None:
            title = header(scoped.targets)
            self._draw(picture, points, best, [*varied, *objectives], title, force)
        if sensitivity:
            return self._sensitivity(scoped, designs, front_moves.spread(found), objectives, _weights(scoped, weight))
        columns = (
            "point",
            *varied,
            *KEYS[1:],
            *(FOUND if every_point else _SHOWN),
            *MADE,
            *(BAND if every_point else ()),
            *(("is_front",) if every_point else ()),
        )
        parts = len(designs.points)
        self.messages.remark(f"{parts} parts, {len(points)} points, {sum(p['is_front'] for p in points)} on the front")
        said = header(scoped.targets, without=columns)
        rows = Rows(columns, [[point[name] for name in columns] for point in found], VIEWS, header=said)
        return rows if every_point else self.cut(rows, top, "points of the front")

    def _say_kept(self, scoped: Scoped, part: str) -> None:
        """Report the numbers that affect energy but do not follow the varied numbers."""
        query = "SELECT tdp_w, static_w FROM part WHERE hardware = ?"
        ((tdp, static),) = scoped.execute(query, [part]).fetchall()
        if static is None:
            raise CharzError("the energy of this part is not known", part, next="explore another part")
        limit = "no power limit" if tdp is None else f"a power limit of {tdp:g} W"
        self.messages.remark(
            f"every part keeps {limit} and, unless a rule changes it, {static:.3g} W of static power at the reference clock and its voltage"
            " (energy.static.chip); a run at another clock draws another, an idle part `rest`"
        )
        warn(self.messages, self.connection(), part)

    def _points(
        self, scoped: Scoped, designs: design_space.DesignSpace, weights: Mapping[str, float] | None
    ) -> list[dict[str, Any]]:
        """Evaluate every part of the space in portions, under every backend and precision."""
        from charz.sql.evaluate import KERNELS_AT_ONCE

        kernels = scoped.value("SELECT COUNT(*) FROM run_kernel")
        found: list[dict[str, Any]] = []
        numbered = list(enumerate(designs.points, start=1))
        at_once = max(1, KERNELS_AT_ONCE // max(kernels, 1))
        with self.messages.progress("parts", math.ceil(len(numbered) / at_once)) as done:
            for start in range(0, len(numbered), at_once):
                portion = dict(numbered[start : start + at_once])
                found += self._portion(scoped, designs, portion, weights)
                done(f"{start + len(portion)} parts")
        return found

    def _portion(
        self,
        scoped: Scoped,
        designs: design_space.DesignSpace,
        portion: Mapping[int, tuple[design_space.Value, ...]],
        weights: Mapping[str, float] | None,
    ) -> Iterator[dict[str, Any]]:
        from charz.sql.scopes import Copies

        copies = {f"{designs.base}#{number}": number for number in portion}
        made = [Copies(designs.base, list(copies), designs.varied(list(portion.values())))]
        with self.cursor() as cursor:
            there = functools.partial(self.scoped_on, cursor) if self.access.engine else None
            found = evaluated_points(scoped, cursor, made, weights, there)
        for point in found:
            number = copies[point["hardware"]]
            varied_to = {k: v for axis, value in zip(designs.axes, portion[number], strict=True) for k, v in axis.shown(value).items()}
            yield {"point": number, **varied_to, **point}

    def _sensitivity(
        self,
        scoped: Scoped,
        designs: design_space.DesignSpace,
        before: Sequence[Mapping[str, Any]],
        objectives: Sequence[str],
        weights: Mapping[str, float] | None,
    ) -> Rows:
        """List the effect of doubling each number, at some points of the front."""
        from charz.sql.scopes import Copies

        doubled = front_moves.of_part(list(numbers(self.connection(), designs.base)))
        at = [designs.points[point["point"] - 1] for point in before]
        rows = []
        with self.messages.progress("numbers", len(doubled)) as done:
            for number in doubled:
                copies = [f"{designs.base}#{i}" for i in range(len(before))]
                made = [Copies(designs.base, copies, front_moves.doubled(designs, at, number))]
                with self.cursor() as cursor:
                    there = functools.partial(self.scoped_on, cursor) if self.access.engine else None
                    found = {
                        tuple(point[name] for name in KEYS): point
                        for point in evaluated_points(scoped, cursor, made, weights, there)
                    }
                nothing = dict.fromkeys((*FOUND, *MADE))
                after = [
                    found.get((name, *(point[key] for key in KEYS[1:])), nothing)
                    for name, point in zip(copies, before, strict=True)
                ]
                rows.append(front_moves.moved(number, before, after, objectives, _front))
                done(number.name)
        rows.sort(key=lambda row: (-front_moves.size(row), row["number"]))
        if rows and front_moves.size(rows[0]):
            first = rows[0]
            self.messages.remark(
                f"{first['number']} moves the front most: doubled, it takes {first['time_ratio']:.3g} of the time and"
                f" {first['energy_ratio']:.3g} of the energy of {first['points']} points"
            )
        listed = [[row[name] for name in front_moves.COLUMNS] for row in rows]
        return Rows(front_moves.COLUMNS, listed, VIEWS, header=header(scoped.targets))

    def _draw(
        self,
        picture: Path,
        points: Sequence[Mapping[str, Any]],
        front: Sequence[Mapping[str, Any]],
        shown: Sequence[str],
        title: str,
        force: bool,
    ) -> None:
        """Draw every point with the varied numbers and results. The last names in `shown` are the objectives of the front."""
        from ..ask import charts

        charts.library()
        objectives = [name for name in shown if name in OBJECTIVES.values()]
        columns = dict.fromkeys(
            ("point", *shown, "precision", "latency_s", "energy_j", "limited_by", "limited_fraction", *MADE)
        )
        drawn, named = (
            [{name: point[name] for name in columns} for point in rows if point["latency_s"] is not None]
            for rows in (points, front)
        )
        axes = objectives if len(objectives) > 1 else [*objectives, *(c for c in FOUND[:2] if c not in objectives)][:2]
        charts.save(charts.explored(drawn, named, axes, title), picture, force)


def _objectives(by: Names) -> list[str]:
    """Return the columns of the front's objectives. Raise `CharzError` for no objective or too many."""
    found = [OBJECTIVES[one_of("objective", name, OBJECTIVES)] for name in names(by)]
    if not 1 <= len(found) <= MOST_OBJECTIVES:
        raise CharzError("too many or too few objectives", str(len(found)), f"one to {MOST_OBJECTIVES} are possible")
    return found


def _weights(scoped: Scoped, given: Weights | None) -> dict[str, float] | None:
    """Return the weight of each model; None if no weight is given. Raise `CharzError` for an unknown model and an invalid weight."""
    if given is None:
        return None
    if isinstance(given, Mapping):
        pairs = [(name, str(value)) for name, value in given.items()]
    else:
        pairs = [(name, value) for name, _, value in (text.rpartition("=") for text in names(given))]
    models = [model for (model,) in scoped.execute("SELECT model FROM model ORDER BY model").fetchall()]
    weights = dict.fromkeys(models, 1.0)
    for name, value in pairs:
        if name not in weights:
            raise unknown_name("model with a weight", name, models)
        weights[name] = quantity(value, "", name)
        if not 0 < weights[name] < math.inf:
            raise CharzError("not a weight", f"{name}={value}", next="write e.g. --weight resnet50=2")
    return weights


def _caps(cap: str | None, limits: Sequence[Limit]) -> list[str]:
    """Return the power cap that lowers the clock: the given cap, or the lowest limit on power. Raise `CharzError` if both are given."""
    most = min((limit.most for limit in limits if limit.column == LIMITS["power"][0]), default=None)
    if most is not None and cap:
        raise CharzError("a cap and a limit of power", f"--cap {cap}", next="give one of them: both lower the clock")
    return [f"{most:.6f}".rstrip("0").rstrip(".") + "w"] if most is not None else [cap] if cap else []


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


def _marked(
    points: Sequence[dict[str, Any]], limits: Sequence[Limit], objectives: Sequence[str]
) -> list[dict[str, Any]]:
    """Mark the points on the front, and return one point for each group of equal points. Raise `CharzError` if no point meets the limits."""
    able = [p for p in points if p["energy_j"] is not None and p["fits_device"]]
    if not able:
        raise CharzError(
            "no part of this space runs the models", next="vary less: memories are too small for a tile or a model"
        )
    able = [p for p in able if all(p[name] is not None for name in (*objectives, *(limit.column for limit in limits)))]
    if not able:
        raise CharzError(
            "no part of this space has a cost", ", ".join(objectives), "its rule is missing (`cost_rule`)"
        )
    within = [p for p in able if all(p[limit.column] <= limit.most * (1 + EQUAL) for limit in limits)]
    if not within:
        least = "; ".join(f"{limit.column} is at least {min(p[limit.column] for p in able):.3g}" for limit in limits)
        raise CharzError("no part meets the limits", ", ".join(limit.text for limit in limits), least)
    for point in points:
        point["is_front"] = False
    front = _front([tuple(p[name] for name in objectives) for p in within])
    for equal in front:
        for i in equal:
            within[i]["is_front"] = True
    return [min((within[i] for i in equal), key=lambda p: p["point"]) for equal in front]


def _front(values: Sequence[tuple[float, ...]]) -> list[list[int]]:
    """Return the indices of the undominated values, in groups of equal values. A value dominates another value if no number is larger and at least one is
    smaller."""
    front: list[tuple[tuple[float, ...], list[int]]] = []
    for place in sorted(range(len(values)), key=values.__getitem__):
        value = values[place]
        least = tuple(number * (1 - EQUAL) for number in value)
        most = tuple(number * (1 + EQUAL) for number in value)
        for i, (other, equal) in enumerate(front):
            if all(o <= m for o, m in zip(other, most, strict=True)):
                if all(o >= n for o, n in zip(other, least, strict=True)):
                    equal.append(place)
                # Moved to the front of the list, since a point that dominates one point dominates most similar points.
                front.insert(0, front.pop(i))
                break
        else:
            front = [member for member in front if not all(n <= o for n, o in zip(least, member[0], strict=True))]
            front.append((value, [place]))
    return [equal for _, equal in front]


def _write(out: Path, points: Sequence[Mapping[str, Any]], force: bool) -> None:
    """Write every point in the format of the file's suffix."""
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
