"""Run real models here and keep their times; characterize this machine."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from charz.schema.errors import CharzError

from . import display
from .workspace import DatabaseOption, change_workspace, open_workspace

if TYPE_CHECKING:
    import duckdb

    from charz.ingest.measure.run import Result, Settings
    from charz.ingest.sources.spec import Spec
    from charz.ingest.trace.export import Request


def command(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Models as `charz ingest` takes them; operators as synthetic:KIND.", show_default=False),
    ] = None,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    backend: Annotated[list[str] | None, typer.Option(help="eager or inductor; repeat.", show_default=False)] = None,
    batch: Annotated[
        list[int] | None, typer.Option(min=1, help="Samples in one run; repeat.", show_default=False)
    ] = None,
    sequence: Annotated[int | None, typer.Option(min=1, help="Tokens a sample.", show_default=False)] = None,
    precision: Annotated[
        list[str] | None, typer.Option(help="fp32, tf32, fp16, bf16, amp-fp16, amp-bf16; repeat.", show_default=False)
    ] = None,
    memory_format: Annotated[str, typer.Option(help="nchw or nhwc.")] = "nchw",
    seconds: Annotated[float, typer.Option(min=0.0, help="Least time spent on each measurement.")] = 2.0,
    quantile: Annotated[
        float,
        typer.Option(
            min=0.0, max=1.0, help="Share of runs faster than the time kept: on a machine shared with others, 0.1."
        ),
    ] = 0.5,
    rounds: Annotated[
        int, typer.Option(min=1, help="Passes over all that is asked, so that a slow minute touches everything alike.")
    ] = 1,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="KEY=VALUE of a synthetic model.", show_default=False)
    ] = None,
    operators: Annotated[
        bool, typer.Option(help="Also keep the time of every operator, from a profiler trace.")
    ] = True,
    hardware: Annotated[
        str | None, typer.Option(help="Part this is; default by the name the device gives itself.", show_default=False)
    ] = None,
    characterize: Annotated[
        str | None,
        typer.Option(help="Draft a part of this name from this CPU and fit its efficiency rows.", show_default=False),
    ] = None,
    db: DatabaseOption = None,
) -> None:
    """Run models on this machine: median, spread, peak memory, energy where the device counts it, operator times.

    Rows are kept under the data set `measured:NAME-OF-DEVICE`, also those before a failure or Ctrl-C;
    `charz validate` holds predictions against them. `--characterize NAME` (ten minutes, CPU) writes
    NAME.yaml, adds the part, measures a suite of small and six whole networks and fits the part's
    efficiency rows to them. NAME is a new one, or that of a part characterized before whose NAME.yaml
    was moved or removed.
    """
    if characterize is not None:
        _characterize(characterize, seconds, quantile, rounds, db)
        return
    if not names:
        raise CharzError("no model named", next="try `charz measure resnet18`, or --characterize NAME")
    from charz.ingest.sources.spec import parse, sweep

    specs = [parse(name, settings=chosen) for name in names for chosen in sweep(settings or [])]
    wanted = [
        {
            "device": device,
            "backend": b,
            "precision": p,
            "batch": n,
            "sequence": sequence,
            "memory_format": memory_format,
            "seconds": seconds,
            "quantile": quantile,
        }
        for b in backend or ["eager"]
        for p in precision or ["fp32"]
        for n in batch or [1]
    ]
    _measure([(spec, wanted) for spec in specs], hardware, operators, rounds, db)


def _measure(
    wanted: list[tuple[Spec, list[dict[str, Any]]]],
    hardware: str | None,
    operators: bool,
    rounds: int,
    db: Path | None,
) -> None:
    """Measure every model under each of its settings, printing as it goes, and keep what was measured."""
    from charz.ingest.measure import materialize, run
    from charz.ingest.sources import build

    cases = [(spec, run.Settings(**chosen)) for spec, several in wanted for chosen in several]
    # What cannot be measured or kept must show before minutes are spent.
    for spec, group in itertools.groupby(cases, key=lambda case: case[0]):
        request = build(spec)
        for _, settings in group:
            materialize.check_sizes(request, settings.batch, settings.sequence)
    with change_workspace(db):
        pass
    if run.is_busy():
        display.note("other work is running here: times will come out too long")
    results: dict[int, Result] = {}
    rows: dict[int, dict[str, Any]] = {}
    traces: list[Any] = []
    try:
        for last in [False] * (rounds - 1) + [True]:
            for number, (spec, settings) in enumerate(cases):
                # Built anew each time: making a model real uses the meta module up.
                request = build(spec)
                result, call = _run(request, settings)
                results[number] = results[number].joined(result) if number in results else result
                name = hardware or run.device_name(settings.device)
                rows[number] = _row(request, settings, results[number], name)
                if not last:
                    continue
                _print(request.name, settings, results[number])
                if operators:
                    source_id = f"{rows[number]['source_id']}:operators"
                    traces.append(
                        run.operator_times(call, settings.device, request.name, name, settings.backend, source_id)
                    )
    finally:
        if rows:
            _keep(db, list(rows.values()), traces)


def _run(request: Request, settings: Settings) -> tuple[Result, Callable[[], object]]:
    from charz.ingest.measure import run

    try:
        return run.measure(request, settings)
    except RuntimeError as error:  # out of memory, an operator that lacks the type, no compiler
        where = f"{request.name}, {settings.backend} {settings.precision} batch {settings.batch} on {settings.device}"
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise CharzError("the model does not run", where, reason) from error


def _print(name: str, settings: Settings, result: Result) -> None:
    spread = f"{display.seconds(result.low_s)} to {display.seconds(result.high_s)}"
    extra = f", {display.size(result.peak_memory_byte)} peak" if result.peak_memory_byte else ""
    extra += f", {display.joules(result.energy_j)}" if result.energy_j is not None else ""
    display.show(
        f"{name} {settings.backend} {settings.precision} batch {settings.batch}: {display.seconds(result.latency_s)}"
        f" ({spread} over {len(result.times_s)} runs{extra})"
    )


def _row(request: Request, settings: Settings, result: Result, hardware: str) -> dict[str, Any]:
    """A `measurement` row."""
    import torch

    return {
        "model": request.name,
        "model_source": request.name,
        "hardware_name": hardware,
        "device_count": 1,
        "backend": settings.backend,
        "software": f"torch {torch.__version__}",
        "mode": "run",
        "precision": settings.precision,
        "memory_format": settings.memory_format,
        "batch": settings.batch,
        "sequence": settings.sequence,
        "resolution": request.resolution,
        "latency_s": result.latency_s,
        "throughput_per_s": settings.batch / result.latency_s,
        "energy_j": result.energy_j,
        "energy_scope": "gpu" if result.energy_j is not None else None,
        "energy_per": "run" if result.energy_j is not None else None,
        "peak_memory_byte": result.peak_memory_byte,
        "source_id": f"measured:{hardware}",
        "note": f"{date.today().isoformat()}; p10 {result.low_s:.6g} s, p90 {result.high_s:.6g} s of {len(result.times_s)} runs,"
        f" quantile {result.quantile:g}",
    }


def _keep(db: Path | None, rows: list[dict[str, Any]], traces: list[Any]) -> None:
    """Add the rows, in place of earlier ones of the same conditions."""
    import polars as pl

    from charz.ingest.measurements import store
    from charz.schema.catalog import Source
    from charz.schema.scenario import Measurement, OperatorMeasurement

    with change_workspace(db) as connection:
        for row_type, frame, keys in (
            (
                Measurement,
                pl.DataFrame(rows, infer_schema_length=None),
                ["model", "backend", "precision", "memory_format", "batch", "sequence"],
            ),
            (OperatorMeasurement, pl.concat(traces, how="diagonal_relaxed") if traces else None, ["model", "backend"]),
        ):
            if frame is None:
                continue
            name = frame["source_id"][0]
            earlier = connection.sql(f"SELECT * FROM {row_type.TABLE} WHERE source_id = $1", params=[name]).pl()
            kept = store.conform(earlier, row_type).join(
                store.conform(frame, row_type), on=keys, how="anti", nulls_equal=True
            )
            both = pl.concat([kept, store.conform(frame, row_type)])
            source = Source(
                source_id=name,
                kind="measurement",
                locator="charz measure",
                licence=None,
                what=f"runs on {frame['hardware_name'][0]}",
            )
            store.store(connection, both, row_type, [source])
    display.note(f"{len(rows)} measurements kept; `charz validate` holds predictions against them")


def _characterize(part_id: str, seconds: float, quantile: float, rounds: int, db: Path | None) -> None:
    """Draft the part, add it, measure the suite, fit."""
    from charz.hardware_catalog import loader  # noqa: F401  # fails early where the catalog is broken
    from charz.ingest.measure import characterize
    from charz.ingest.run import run as ingest
    from charz.ingest.sources.spec import parse
    from charz.sql import maintain

    path = _new_part_file(part_id, db)
    machine = characterize.probe()
    with path.open("x", encoding="utf-8") as file:
        file.write(characterize.draft(machine, part_id))
    display.note(
        f"{path}: {machine.core_count} cores, {display.quantity(machine.fp32_ops_per_s, 'ops/s')} fp32, {display.quantity(machine.byte_per_s, 'byte/s')}"
    )
    from .hardware import add

    with open_workspace(db, create=True) as connection:
        factor = host_factor(connection, machine.operator_s)
    display.note(
        f"an operator takes the host {display.seconds(machine.operator_s)}: give scenarios of this machine --host-factor {factor:.2g}"
    )
    add(path, replace=True, db=db)
    specs = [(parse(name, settings=chosen_settings(values)), batches) for name, values, batches in characterize.SUITE]
    ingest([spec for spec, _ in specs], lambda: change_workspace(db), maintain.add_runs)
    chosen = {"seconds": min(seconds, 1.0) / rounds, "quantile": quantile}
    wanted = [(spec, [{"batch": n, **chosen} for n in batches]) for spec, batches in specs]
    _measure(wanted, part_id, False, rounds, db)
    from .calibrate import command as calibrate

    calibrate(
        f"hardware:{part_id}",
        hardware=[part_id],
        backend=None,
        where=f"x.source_id = 'measured:{part_id}'",
        strength=1.0,
        folds=6,
        suite=True,
        host_factor=factor,
        write=True,
        csv=None,
        db=db,
    )


def _new_part_file(part_id: str, db: Path | None) -> Path:
    """Where the draft goes. Raises `CharzError` for an id that is none, one of another's part, and a file that is there."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", part_id):
        raise CharzError("not an id of a part", part_id, next="use letters, digits, _ and -, e.g. my_machine")
    path = Path(f"{part_id}.yaml")
    if path.exists():
        raise CharzError(
            "this part's file is there already", str(path.resolve()), next="move or remove it to characterize anew"
        )
    if not os.access(path.parent, os.W_OK):
        raise CharzError("the part's file cannot be written", str(path.parent.resolve()))
    query = """
        SELECT h.hardware, h.origin = 'user' AND COUNT(p.source_id) > 0 AND h.hardware = $1
        FROM hardware AS h
        LEFT JOIN hardware_alias AS a USING (hardware)
        LEFT JOIN hardware_provenance AS p ON p.hardware = h.hardware AND p.source_id = 'charz_measure'
        WHERE lower($1) IN (lower(h.hardware), lower(h.name), lower(a.alias))
        GROUP BY h.hardware, h.origin
    """
    with change_workspace(db) as connection:  # to write, so that a folder where nothing can be kept shows now
        for known, is_characterized in connection.execute(query, [part_id]).fetchall():
            if not is_characterized:
                raise CharzError("the name of a part that was not characterized here", known, next="take another name")
    return path


def host_factor(connection: duckdb.DuckDBPyConnection, operator_s: float) -> float:
    """Host time of an operator here over that of the catalog's eager backend on CPUs."""
    reference = connection.execute(
        "SELECT host_kernel_s FROM backend_support WHERE backend = 'eager' AND family = 'cpu' AND vendor = '*'"
    ).fetchall()[0][0]
    return operator_s / float(reference)


def chosen_settings(values: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """`KEY=VALUE` texts as pairs."""
    return tuple((key, value) for key, _, value in (v.partition("=") for v in values))
