"""The sections of a page: each asks a session, draws pictures, and summarizes its finding in a sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from charz.schema.errors import CharzError

from ..answer import Rows
from ..ask import first_screen
from ..explain import sentences
from ..quantities import percent, quantity, significant, size
from ..question import Question, single
from .content import Record, Section, Table

SWEPT_BATCHES = "1:256"
"""Batches of the sweep."""

SERVED_CONTEXTS = "512:8192"
"""Contexts for serving a language model."""

EQUAL = 1.01
"""Ratio of times below which they count as equal."""

TOP = 25
"""Number of rows of long tables."""


@dataclass(frozen=True)
class Subject:
    """Subject of a page: a model on a part under one condition, compared with other parts."""

    session: Any
    model: str
    parts: Sequence[str]
    """Parts: first that of the report, then those compared with it."""
    statement: Callable[[str], str]
    """Function that returns the statement of a section of the report."""
    conditions: dict[str, Any] = field(default_factory=dict)
    """Options of the report: batch, sequence, precision, backend, cache, cap."""

    @property
    def part(self) -> str:
        """The part of the report."""
        return self.parts[0]

    def table(self, section: str, about: str = "", **given: Any) -> Table:
        """Return a section of the report as a table."""
        rows = self.ask("report", self.model, on=self.part, section=section, **{**self.conditions, **given})
        return self.tabled(rows, self.statement(section), about)

    def view(
        self, view: str, columns: Sequence[str], tail: str = "", about: str = "", parts: Sequence[str] = ()
    ) -> Table:
        """Return columns of a view of the run as a table, on several parts if they are named."""
        from ..question import of_axes

        if not parts:
            scoped, _ = self.session.target(self.question(), view)
            sql = f"SELECT {', '.join(columns)} FROM {view} {tail}".strip()
            return self.tabled(scoped.rows(view, columns, tail), sql, about)
        names = ("batch", "sequence", "precision", "backend", "cap")
        given = {name: self.conditions.get(name) for name in names}
        held = {"cache_state": self.conditions.get("cache", "warm")}
        scoped = self.session.asked(of_axes(self.model, list(parts), **given, fields=held), view)
        return self.tabled(
            scoped.rows(view, columns, tail), f"SELECT {', '.join(columns)} FROM {view} {tail}".strip(), about
        )

    def question(self) -> Question:
        """Return the question about the run of the report."""
        return single(self.model, self.part, **self.conditions)

    def keep(self, *views: str) -> None:
        """Evaluate views of the run once for all sections."""
        scoped, _ = self.session.target(self.question(), *views)
        for view in views:
            scoped.keep(view)

    def compared(self, method: str, without: Sequence[str] = (), **given: Any) -> Rows:
        """Return a method's rows for the part under the report's conditions, then for the others in their assumed precision and backend."""
        conditions = {name: value for name, value in self.conditions.items() if name not in without} | given
        if not conditions.get("precision") and not conditions.get("backend"):
            # One question evaluates the runs of all parts at once.
            found = self.ask(method, self.model, on=list(self.parts), **conditions)
            place = found.columns.index("hardware")
            return replace(found, source=sorted(found.fetch(), key=lambda row: row[place] != self.part))
        found = self.ask(method, self.model, on=[self.part], **conditions)
        if not self.parts[1:]:
            return found
        free = {name: value for name, value in conditions.items() if name not in ("precision", "backend")}
        others = self.ask(method, self.model, on=list(self.parts[1:]), **free)
        return replace(found, source=[*found.fetch(), *others.fetch()])

    def tabled(self, rows: Rows, sql: str, about: str = "") -> Table:
        """Convert rows to a table."""
        return Table(rows.columns, rows.fetch(), sql, self.session.texts(rows.views), about)

    def ask(self, method: str, *arguments: Any, **options: Any) -> Rows:
        """Return the rows of a method of the session."""
        found: Rows = getattr(self.session, method).asked.rows(self.session, *arguments, **options)
        return found

    def chart(self, kind: str, **given: Any) -> Record:
        """Draw a picture of `plot` as wide as the page."""
        options = {name: value for name, value in self.conditions.items() if name != "cap"} | given
        chart = self.session.plot(kind, self.model, **{"on": self.part, **options}).to_dict()
        chart.pop("title", None)
        return {**chart, "width": "container", "height": 320}


_MODULE = (
    "module",
    "class_name",
    "depth",
    "operator_count",
    "latency_s",
    "energy_j",
    "edp_js",
    "weight_byte",
    "output_byte",
)

MOST_MODULES = 600
"""Largest number of modules in the tree; those with the largest energy-delay product come first."""

Maker = Callable[[Subject], Section]


def sections(subject: Subject) -> Iterator[Section]:
    """Yield every section in reading order; a section without an answer gives the reason."""
    decodes = "SELECT has_context FROM model WHERE model = ?"
    ((is_decoder,),) = subject.session.connection().execute(decodes, [subject.model]).fetchall()
    for name, (title, make) in SECTIONS.items():
        if name == "serving" and not is_decoder:
            continue
        try:
            yield make(subject)
        except CharzError as error:
            yield Section(name, title, f"Not answered: {error.line}")


def _verdict(subject: Subject) -> Section:
    run, memory = subject.table("run", "Run"), subject.table("memory", "Memory")
    band = subject.view("model_latency", ("p10_s", "p90_s", "band_basis"), about="Interval")
    (r,), (m,), (b,) = run.records(), memory.records(), band.records()
    if r["latency_s"] is None:
        return Section("verdict", "Verdict", f"{r['model']} has no time on {r['hardware']}.", tables=[run, memory])
    energy = "an unknown energy" if r["energy_j"] is None else quantity(r["energy_per_sample_j"], "J")
    said = [
        f"{r['model']} takes {quantity(r['latency_s'], 's')} a run on {r['hardware']} ({r['backend']}, {r['precision']},"
        f" batch {r['batch']}): {significant(r['throughput_per_s'])} samples a second at {energy} each",
        sentences.pace(r),
        f"it {first_screen.fits(m)}",
    ]
    if b["p10_s"] is not None:
        said.append(first_screen.interval(b))
    if r["power_s"]:
        said.append(
            f"{quantity(r['power_s'], 's')} are in kernels that the power limit slows down, which count as power time and as neither"
            " compute nor memory"
        )
    said += first_screen.peak_power(r)
    if r["is_simulated"]:
        said.append("this part is simulated, no silicon exists")
    return Section("verdict", "Verdict", f"{'; '.join(said)}.", tables=[run, memory, band])


def _where(subject: Subject) -> Section:
    subject.keep("kernel_latency", "kernel_mapping")
    modules = subject.view(
        "module_edp", _MODULE, f"ORDER BY edp_js DESC NULLS LAST, module LIMIT {MOST_MODULES}", "Modules"
    )
    kernels = subject.table("kernels", "Kernels by time", top=TOP)
    energies = subject.table("energy", "Kernels by energy", top=TOP)
    rows = kernels.records()
    whole = subject.table("run").records()[0]["latency_s"]
    (call,) = subject.view("model_latency", ("run_call_s",)).records()
    if not rows or not whole:
        raise CharzError("no kernel has a time", subject.model)
    first = rows[0]
    share = percent(first["latency_s"] / whole)
    together = percent(sum(row["latency_s"] for row in rows) / whole)
    finding = (
        f"The slowest kernel, {first['kernel']} of {first['operator']} in {first['module'] or 'the model'}, makes {share} of the"
        f" time; the {len(rows)} slowest make {together}."
    )
    if call["run_call_s"]:
        parts = f"{quantity(whole - call['run_call_s'], 's')} of {quantity(whole, 's')}"
        finding += f" The tree has {parts}: the run's call, {quantity(call['run_call_s'], 's')}, is in no module."
    return Section(
        "where", "Where time and joules go", finding, tables=[kernels, energies, modules], tree=modules.records()
    )


def _roofline(subject: Subject) -> Section:
    rows = subject.ask("report", subject.model, on=subject.part, section="kernels", top=100_000, **subject.conditions)
    kernels = [dict(zip(rows.columns, row, strict=True)) for row in rows.fetch()]
    total = sum(k["latency_s"] or 0.0 for k in kernels)
    by_pace: dict[str, float] = {}
    for kernel in kernels:
        pace = str(kernel["bottleneck"]).partition(":")[0]
        by_pace[pace] = by_pace.get(pace, 0.0) + (kernel["latency_s"] or 0.0)
    pace, seconds = max(by_pace.items(), key=lambda item: item[1])
    finding = (
        f"{percent(seconds / total if total else 0.0)} of the kernels' time is in kernels whose pace {_SETS[pace]}; a kernel far"
        " below its roof waits for something else."
    )
    tables = [subject.table("mapping", "What sets the pace")]
    return Section("roofline", "Roofline", finding, [subject.chart("roofline")], tables)


_SETS = {
    "compute": "arithmetic sets",
    "memory": "a memory level sets",
    "overhead": "the host or a gap sets",
    "power": "the power limit sets",
    "threads": "the team of threads sets",
    "balanced": "arithmetic and memory set together",
    "None": "nothing known sets",
}


def _memory(subject: Subject) -> Section:
    table = subject.table("memory", "Memory")
    (m,) = table.records()
    kinds = {"weights": "weight", "gradients": "gradient", "activations": "activation", "workspace": "workspace"}
    parts = {name: m[f"{kind}_byte"] for name, kind in kinds.items()}
    most = max(parts, key=lambda name: parts[name] or 0)
    finding = (
        f"Memory peaks at {size(m['peak_memory_byte'])} in {m['peak_operator']} ({m['peak_module'] or 'the model'});"
        f" the largest share is {most}, {size(parts[most])}."
    )
    tables = [table, subject.table("largest_batch", "Largest batch"), subject.table("fits", "What fits where")]
    return Section("memory", "Memory over the run", finding, [subject.chart("memory")], tables)


def _batches(subject: Subject) -> Section:
    from . import pictures

    rows = subject.compared("compare", without=("batch",), batch=SWEPT_BATCHES, section="saturation")
    table = subject.tabled(rows, f"SELECT {', '.join(rows.columns)} FROM batch_sweep ORDER BY hardware, batch")
    own = [row for row in table.records() if row["hardware"] == subject.part and row["fits_device"]]
    if not own:
        raise CharzError("no batch fits", f"{subject.model} on {subject.part}")
    best = max(own, key=lambda row: row["throughput_per_s"] or 0.0)
    finding = (
        f"{subject.part} is within 10 % of its best at batch {own[0]['saturating_batch']}; its maximum is"
        f" {significant(best['throughput_per_s'])} samples a second at batch {best['batch']}."
    )
    drawn = [row for row in table.records() if row["fits_device"] and row["throughput_per_s"] is not None]
    return Section("batches", "Batches", finding, [pictures.batches(drawn)], [table])


def _parts(subject: Subject) -> Section:
    from . import pictures

    rows = subject.compared("compare")
    joined = "model_report JOIN model_energy USING (model, hardware, scenario_id)"
    table = subject.tabled(rows, f"SELECT {', '.join(rows.columns)} FROM {joined} ORDER BY latency_s")
    columns, tail = ("hardware", "p10_s", "p90_s"), "ORDER BY hardware"
    bands = subject.view("model_latency", columns, tail, "Intervals")
    if others := subject.parts[1:]:
        free = replace(subject, conditions={k: v for k, v in subject.conditions.items() if k not in ("precision", "backend")})
        bands = replace(bands, rows=[*bands.rows, *free.view("model_latency", columns, tail, "Intervals", others).rows])
    found = [row for row in table.records() if row["latency_s"] is not None]
    if not found:
        raise CharzError("no part has an answer", ", ".join(subject.parts))
    fastest = min(found, key=lambda row: row["latency_s"])
    known = [row for row in found if row["energy_per_sample_j"] is not None]
    frugal = min(known, key=lambda row: row["energy_per_sample_j"]) if known else None
    finding = f"{fastest['hardware']} is the fastest of {len({row['hardware'] for row in found})} parts at {quantity(fastest['latency_s'], 's')}"
    if frugal:
        name = f"{frugal['hardware']} (simulated)" if frugal["is_simulated"] else frugal["hardware"]
        finding += f"; {name} takes the least energy, {quantity(frugal['energy_per_sample_j'], 'J')} a sample"
    if len(asked := dict.fromkeys(row["precision"] for row in found)) > 1:
        finding += f"; they compute in {', '.join(asked)}"
    picture = pictures.parts(found, {row["hardware"]: row for row in bands.records()})
    return Section("parts", "Parts compared", f"{finding}.", [picture], [table, bands])


def _fusion(subject: Subject) -> Section:
    table = subject.table("fusion")
    best = max((row for row in table.records() if row["speedup"]), key=lambda row: row["speedup"], default=None)
    finding = (
        "No backend of this part fuses operators."
        if best is None
        else f"{best['backend']} runs {best['kernel_count']} kernels in place of {best['unfused_kernel_count']} and is"
        f" {significant(best['speedup'])} times as fast as {best['unfused_backend']}."
    )
    return Section("fusion", "Fused against unfused", finding, [subject.chart("fusion", backend=None)], [table])


def _precisions(subject: Subject) -> Section:
    from . import pictures

    table = subject.table("precisions")
    rows = [row for row in table.records() if row["latency_s"] is not None]
    if not rows:
        raise CharzError("no precision has an answer", subject.part)
    best, worst = (pick(rows, key=lambda row: row["latency_s"]) for pick in (min, max))
    if worst["latency_s"] < EQUAL * best["latency_s"]:
        finding = (
            f"All {len(rows)} precisions take {quantity(best['latency_s'], 's')}: arithmetic does not set the pace."
        )
    else:
        base = next((row for row in rows if row["precision"] == best["base_precision"]), best)
        ratio = base["latency_s"] / best["latency_s"]
        if ratio < EQUAL:
            finding = f"None of {len(rows)} precisions is faster than {base['precision']}, {quantity(base['latency_s'], 's')}."
        else:
            finding = (
                f"Of {len(rows)} precisions {best['precision']} is the fastest, {quantity(best['latency_s'], 's')}:"
                f" {significant(ratio)} times as fast as {base['precision']}."
            )
    return Section("precisions", "Precisions", finding, [pictures.precisions(rows)], [table])


def _opportunities(subject: Subject) -> Section:
    given = {name: value for name, value in subject.conditions.items() if name != "cache"}
    rows = subject.ask("opportunities", subject.model, on=subject.part, **given)
    table = subject.tabled(
        rows, f"SELECT {', '.join(rows.columns)} FROM opportunity ORDER BY saved_time_fraction DESC NULLS LAST"
    )
    first = next(iter(table.records()), None)
    if first is None or not first["saved_s"] or first["saved_s"] <= 0:
        return Section(
            "opportunities", "What would help", "Nothing that charz knows would make it faster.", tables=[table]
        )
    change = f"{first['change'][:1].upper()}{first['change'][1:]} in place of {first['instead_of']}"
    finding = f"{change} saves most: {percent(first['saved_time_fraction'])} of the time of a sample{_trade(first)}."
    return Section("opportunities", "What would help", finding, tables=[table])


def _trade(row: Record) -> str:
    return f", at the price of {row['trade']}" if row["trade"] else ""


def _measured(subject: Subject) -> Section:
    columns = "backend, precision, batch, source_id, measured_s, predicted_s, p10_s, p90_s, is_inside"
    query = f"SELECT {columns} FROM prediction_error WHERE model = ? AND hardware = ? ORDER BY ALL"
    found = subject.session.connection().execute(query, [subject.model, subject.part])
    rows = found.fetchall()
    if not rows:
        finding = (
            "The file has no measured run of this model on this part (measurements of the part gave charz's intervals);"
            " `charz measurements import` adds some."
        )
        return Section("measured", "Against measurements", finding)
    table = Table(columns.split(", "), rows, query, subject.session.texts(("prediction_error",)))
    errors = sorted(abs(row["predicted_s"] / row["measured_s"] - 1) for row in table.records())
    finding = f"Of {len(rows)} measured runs the median error is {percent(errors[len(errors) // 2])}."
    return Section("measured", "Against measurements", finding, tables=[table])


def _serving(subject: Subject) -> Section:
    from . import pictures

    given = {
        name: value for name, value in subject.conditions.items() if name in ("batch", "precision", "backend", "cap")
    }
    rows = subject.ask("llm", subject.model, on=list(subject.parts), context=SERVED_CONTEXTS, **given)
    table = subject.tabled(rows, f"SELECT {', '.join(rows.columns)} FROM llm_serving ORDER BY hardware, context")
    own = [row for row in table.records() if row["hardware"] == table.records()[0]["hardware"]]
    first, last = own[0], own[-1]
    tokens, waits = ([quantity(row[column], "s") for row in (first, last)] for column in ("tpot_s", "ttft_s"))
    finding = (
        f"On {first['hardware']} a token takes {tokens[0]} at a context of {first['context']} and {tokens[1]} at"
        f" {last['context']}; the first comes after {waits[0]} and {waits[1]}."
    )
    return Section("serving", "Serving", finding, pictures.serving(table.records()), [table])


def _sources(subject: Subject) -> Section:
    rows = subject.session.hardware.show.asked.rows(subject.session.hardware, subject.part, sources=True)
    table = Table(
        rows.columns,
        rows.fetch(),
        f"SELECT * FROM assumed_input WHERE hardware = '{subject.session.part_name(subject.part)}'",
        subject.session.texts(rows.views),
    )
    standing = [row["standing"] for row in table.records()]
    finding = f"{sum(1 for word in standing if word == 'assumed')} of {len(standing)} numbers of {subject.part} are assumed; each row names its source."
    return Section("sources", "Sources", finding, tables=[table])


SECTIONS: dict[str, tuple[str, Maker]] = {
    "verdict": ("Verdict", _verdict),
    "where": ("Where time and joules go", _where),
    "roofline": ("Roofline", _roofline),
    "memory": ("Memory over the run", _memory),
    "batches": ("Batches", _batches),
    "parts": ("Parts compared", _parts),
    "fusion": ("Fused against unfused", _fusion),
    "precisions": ("Precisions", _precisions),
    "opportunities": ("What would help", _opportunities),
    "serving": ("Serving", _serving),
    "measured": ("Against measurements", _measured),
    "sources": ("Sources", _sources),
}
"""Sections by name, with their titles."""
