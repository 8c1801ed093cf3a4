"""The command that measures models on this machine."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from charz.schema import unfinished
from charz.schema.errors import CharzError

from ..answer import Rows, answer
from ..axes import names, sizes
from ..decide import model_sizes
from ..parameters import Names, Sizes, Text
from .calibrate import Calibrate
from .fusion import Fusion
from .hardware import Hardware

if TYPE_CHECKING:
    import duckdb
    import polars as pl

    from charz.ingest.measure.run import Result, Settings
    from charz.ingest.sources.spec import Spec
    from charz.ingest.trace.export import Request

    Wanted = list[tuple[Spec, list[dict[str, Any]]]]
    """Models, each with the settings of its measurements."""

_MEASURED = (
    "model",
    "backend",
    "precision",
    "batch",
    "latency_s",
    "low_s",
    "high_s",
    "run_count",
    "peak_memory_byte",
    "energy_j",
)


class Measure(Calibrate, Fusion):
    """Measurements of models on this machine."""

    @answer(
        "runs", alone=("fusion", "fusion_pairs"), is_writing=True,
        common=("device", "backend", "batch", "precision", "seconds", "hardware", "characterize", "fusion"),
    )
    def measure(
        self,
        models: Annotated[
            Names | None, Text("Models, named as for `charz ingest` or in the database; single operators as synthetic:KIND.")
        ] = None,
        *,
        device: Annotated[str, Text("Device of PyTorch: cpu or cuda.")] = "cpu",
        backend: Annotated[Names | None, Text("Backends: eager or inductor; repeatable.")] = None,
        batch: Annotated[Sizes | None, Text("Samples in one run: 8, 1,8,64 or 1:64 (doubling).")] = None,
        sequence: Annotated[int | None, Text("Tokens per sample.", least=1)] = None,
        precision: Annotated[Names | None, Text("Precisions: fp32, tf32, fp16, bf16, amp-fp16, amp-bf16; repeatable.")] = None,
        memory_format: Annotated[str, Text("Memory format: nchw or nhwc.")] = "nchw",
        seconds: Annotated[float, Text("Shortest time spent on each measurement, in s.", least=0.0)] = 2.0,
        quantile: Annotated[
            float,
            Text("Quantile of the run times to store; use 0.1 on a shared machine.", least=0.0, most=1.0),
        ] = 0.5,
        rounds: Annotated[
            int, Text("Number of passes over all measurements. More passes spread a temporary slowdown over all measurements.", least=1)
        ] = 1,
        settings: Annotated[Names | None, Text("Setting KEY=VALUE of a synthetic model; repeatable.", flag="set")] = None,
        operators: Annotated[bool, Text("Also store the time of every operator, from a profiler trace.")] = True,
        hardware: Annotated[str | None, Text("Name of the measured part; default the name of the device.")] = None,
        characterize: Annotated[
            str | None, Text("Describe this CPU in a part file of this name, and fit efficiency rows to measurements of the CPU.")
        ] = None,
        section: Literal["runs", "fusion", "fusion_pairs"] = "runs",
    ) -> Rows:
        """Run models on this machine and store median and spread of the time, peak memory, operator times, and energy if the device has a counter.

        Rows are stored in the data set `measured:NAME-OF-DEVICE`, also after a failure or Ctrl-C. `charz validate` compares them with predictions.
        `--characterize NAME` (ten minutes, CPU) writes NAME.yaml, adds the part, measures a suite of small models and six whole networks, and fits the
        part's efficiency rows to the measurements. To characterize a part again, move or remove NAME.yaml first.

        `--fusion` runs nothing: it compares how inductor fuses the operators of each model for this CPU with the fusion rules.
        `--fusion-pairs` lists the pairs of operators that only inductor or only the rules fuse.
        """
        if section != "runs":
            if not names(models):
                raise CharzError("no model named", f"--{section.replace('_', '-')}", next="name models, e.g. resnet18 timm:NAME hf:NAME")
            return self._fused(names(models), section == "fusion_pairs")
        if characterize is not None:
            _check_suite_alone(
                {
                    "models": models, "--device": device != "cpu", "--backend": backend, "--batch": batch,
                    "--sequence": sequence, "--precision": precision, "--memory-format": memory_format != "nchw",
                    "--set": settings, "--no-operators": not operators, "--hardware": hardware,
                }
            )  # fmt: skip
            return self._characterize(characterize, seconds, quantile, rounds)
        listed = [models] if isinstance(models, str) else list(models or ())
        if not listed:
            raise CharzError("no model named", next="try `charz measure resnet18`, or --characterize NAME")
        from charz.ingest.sources.spec import sweep

        texts = settings.split() if isinstance(settings, str) else list(settings or ())
        specs = [self._spec(name, chosen) for name in listed for chosen in sweep(texts)]
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
            for b in names(backend) or ["eager"]
            for p in names(precision) or ["fp32"]
            for n in sizes(batch) or [1]
        ]
        return self._measure([(spec, wanted) for spec in specs], hardware, operators, rounds)

    def _spec(self, name: str, settings: tuple[tuple[str, str], ...]) -> Spec:
        """Return the specification of a model as named, or of an ingested model whose name does not lead to its source."""
        from charz.ingest.sources.spec import parse

        spec = parse(name, settings=settings)
        known = self.connection().execute("SELECT source FROM model WHERE model = ?", [name]).fetchall() if self.path.exists() else []
        return spec if settings or known in ([], [(spec.source,)]) else model_sizes.own(self, name)

    def _measure(self, wanted: Wanted, hardware: str | None, operators: bool, rounds: int) -> Rows:
        """Measure every model under each of its settings and store the results."""
        from charz.ingest.measure import materialize, run

        cases = [(spec, run.Settings(**chosen)) for spec, several in wanted for chosen in several]
        # Invalid measurements must fail before minutes are spent.
        for spec, group in itertools.groupby(cases, key=lambda case: case[0]):
            request = _built(spec)
            for _, settings in group:
                materialize.check_sizes(request, settings.batch, settings.sequence)
        with self.changing():
            pass
        if run.is_busy():
            self.messages.warn("other work is running on this machine: times will be too long")
        results: dict[int, Result] = {}
        kept: dict[int, dict[str, Any]] = {}
        traces: list[Any] = []
        shown: list[tuple[Any, ...]] = []
        with unfinished.finishing():
            try:
                with self.messages.progress("measure", rounds * len(cases)) as done:
                    for last in [False] * (rounds - 1) + [True]:
                        for number, (spec, settings) in enumerate(cases):
                            # Each round builds the model again, since materializing it consumes the meta module.
                            request = _built(spec)
                            result, call = _run(request, settings)
                            results[number] = results[number].joined(result) if number in results else result
                            name = hardware or run.device_name(settings.device)
                            kept[number] = _row(request, settings, results[number], name)
                            done(request.name)
                            if not last:
                                continue
                            shown.append(_shown(request.name, settings, results[number]))
                            if operators:
                                source = f"{kept[number]['source_id']}:operators"
                                backend = settings.backend
                                traces.append(
                                    run.operator_times(call, settings.device, request.name, name, backend, source)
                                )
            finally:
                if kept:
                    self._keep_measured(list(kept.values()), traces)
        return Rows(_MEASURED, shown)

    def _keep_measured(self, rows: list[dict[str, Any]], traces: list[pl.DataFrame]) -> None:
        """Store the rows. They replace earlier rows of the same conditions."""
        import polars as pl

        from charz.ingest.measurements import store
        from charz.schema.catalog.source import Source
        from charz.schema.scenario import Measurement, OperatorMeasurement

        conditions = ["model", "backend", "precision", "memory_format", "batch", "sequence"]
        operators = pl.concat(traces) if traces else pl.DataFrame()
        measured = pl.DataFrame(rows, infer_schema_length=None)
        with self.changing() as connection:
            for row_type, frame, keys in (
                (Measurement, measured, conditions),
                (OperatorMeasurement, operators, ["model", "backend"]),
            ):
                if frame.is_empty():
                    continue
                name = frame["source_id"][0]
                earlier = connection.sql(f"SELECT * FROM {row_type.TABLE} WHERE source_id = $1", params=[name]).pl()
                new = store.conform(frame, row_type)
                left = store.conform(earlier, row_type).join(new, on=keys, how="anti", nulls_equal=True)
                what = f"runs on {frame['hardware_name'][0]}"
                source = Source(source_id=name, kind="measurement", locator="charz measure", licence=None, what=what)
                store.store(connection, pl.concat([left, new]), row_type, [source])
        self.messages.remark(f"{len(rows)} measurements and {len(operators)} operator times stored; `charz validate` compares them with predictions")

    def _characterize(self, part_id: str, seconds: float, quantile: float, rounds: int) -> Rows:
        """Write the part's file, add the part, measure the suite, and fit efficiency rows."""
        from charz.hardware_catalog import loader  # noqa: F401  # fails early if the catalog is broken
        from charz.ingest.measure import characterize
        from charz.ingest.run import run as ingest
        from charz.ingest.sources.spec import parse
        from charz.sql import maintain

        path = self._new_part_file(part_id)
        machine = characterize.probe()
        with path.open("x", encoding="utf-8") as file:
            file.write(characterize.draft(machine, part_id))
        factor = host_factor(self.connection(create=True), machine.operator_s)
        self.messages.remark(
            f"{path}: {machine.core_count} cores, {machine.fp32_ops_per_s:.3g} operations and {machine.byte_per_s:.3g} bytes"
            f" per second; the host issues an operator in {machine.operator_s:.3g} s: add scenarios of this machine with"
            f" --host-factor {factor:.2g}"
        )
        Hardware(self).add(path, replace=True)
        specs = [(parse(name, settings=_pairs(values)), batches) for name, values, batches in characterize.SUITE]
        ingest([spec for spec, _ in specs], self.changing, maintain.add_runs)
        chosen = {"seconds": min(seconds, 1.0) / rounds, "quantile": quantile}
        measured = self._measure(
            [(spec, [{"batch": n, **chosen} for n in batches]) for spec, batches in specs], part_id, False, rounds
        )
        self._calibrated(
            f"hardware:{part_id}",
            [part_id],
            where=f"x.source_id = 'measured:{part_id}'",
            host_factor=factor,
            is_suite=True,
        )
        return measured

    def _new_part_file(self, part_id: str) -> Path:
        """Return the path of the part's file. Raise `CharzError` for an invalid id, the id of another part, and an existing file."""
        from charz.hardware_catalog import part_file

        if not part_file.is_name(part_id):
            raise CharzError("not an id of a part", part_id, next=f"use {part_file.NAME_REMEDY}, e.g. my_machine")
        path = Path(f"{part_id}.yaml")
        if path.exists():
            next = "move or remove it to characterize again"
            raise CharzError("this part's file exists already", str(path.resolve()), next=next)
        if not os.access(path.parent, os.W_OK):
            raise CharzError("the part's file cannot be written", str(path.parent.resolve()))
        with self.changing() as connection:  # fails early in a folder that is not writable
            known = _parts_called(connection, part_id)
            origin = (
                "SELECT hardware FROM hardware SEMI JOIN hardware_provenance USING (hardware) WHERE origin = 'user'"
            )
            own = {part for (part,) in connection.execute(f"{origin} AND hardware = ?", [part_id]).fetchall()}
        for part in known - own:
            raise CharzError("the name of a part that was not characterized here", part, next="take another name")
        return path


def _parts_called(connection: duckdb.DuckDBPyConnection, name: str) -> set[str]:
    """Return the parts with this id, full name or alias, regardless of case."""
    query = "SELECT DISTINCT hardware FROM hardware LEFT JOIN hardware_alias USING (hardware)"
    tests = "lower(?) IN (lower(hardware), lower(name), lower(coalesce(alias, '')))"
    return {part for (part,) in connection.execute(f"{query} WHERE {tests}", [name]).fetchall()}


def _built(spec: Spec) -> Request:
    """Build a model under the name that the database has for it."""
    from charz.ingest.sources import build

    request = build(spec)
    request.name = spec.stored or request.name
    return request


def _run(request: Request, settings: Settings) -> tuple[Result, Callable[[], object]]:
    from charz.ingest.measure import run

    try:
        return run.measure(request, settings)
    except RuntimeError as error:  # out of memory, an operator that lacks the type, no compiler
        where = f"{request.name}, {settings.backend} {settings.precision} batch {settings.batch} on {settings.device}"
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise CharzError("the model does not run", where, reason) from error


def _shown(name: str, settings: Settings, result: Result) -> tuple[Any, ...]:
    return (
        name,
        settings.backend,
        settings.precision,
        settings.batch,
        result.latency_s,
        result.low_s,
        result.high_s,
        len(result.times_s),
        result.peak_memory_byte,
        result.energy_j,
    )


def _row(request: Request, settings: Settings, result: Result, hardware: str) -> dict[str, Any]:
    """Make a row of the table `measurement`."""
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


def _check_suite_alone(options: Mapping[str, object]) -> None:
    """Raise `CharzError` for an option that the suite of `--characterize` ignores."""
    given = [name for name, value in options.items() if value]
    if given:
        raise CharzError(
            "--characterize measures a fixed suite of models", ", ".join(given),
            next="leave these options out; --characterize takes --seconds, --quantile and --rounds",
        )  # fmt: skip


def host_factor(connection: duckdb.DuckDBPyConnection, operator_s: float) -> float:
    """Return an operator's host time on this machine, divided by the host time of the catalog's eager backend on CPUs."""
    query = "SELECT host_kernel_s FROM backend_support WHERE backend = 'eager' AND family = 'cpu' AND vendor = '*'"
    ((reference,),) = connection.execute(query).fetchall()
    return operator_s / float(reference)


def _pairs(values: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Split `KEY=VALUE` texts into pairs."""
    return tuple((key, value) for key, _, value in (v.partition("=") for v in values))
