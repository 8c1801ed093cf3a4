"""Choice of the parts, backends and precisions of a question."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from charz.schema.errors import CharzError, some, unknown_name

from . import releases
from .capabilities import Capabilities
from .opened import Opened
from .question import DEFAULT_MODE, ENGINES, HALVES, SINGLE, Question

if TYPE_CHECKING:
    from charz.sql.scopes import Triple

SAID_PARTS = 3
"""Number of parts that a message names before it counts the rest."""


class Targets(Opened):
    """Check of the names in a question, and selection of targets by these names."""

    def model_name(self, name: str) -> str:
        """Return the name of an ingested model. Raise `CharzError` with similar names for an unknown name."""
        known = self._names("model")
        if name in known:
            return name
        raise unknown_name("model", name, known, f"`charz ingest {name}` adds it, `charz models` lists the ingested models")

    def say_states_left_out(self, model: str) -> None:
        """Report that the memory of a run of a training step contains no states of the optimizer."""
        if self.connection().execute("SELECT 1 FROM model WHERE model = ? AND is_training", [model]).fetchone():
            self.messages.remark(f"memory leaves out the states of the optimizer; `charz train {model.removesuffix(',train')}` adds them")

    def _check_computes(self, models: Sequence[str]) -> None:
        """Raise `CharzError` for a named model without kernels. If no model is named, report all models of the file without kernels."""
        query = "SELECT model FROM model ANTI JOIN kernel USING (model) ORDER BY model"
        idle = [name for (name,) in self.connection().execute(query).fetchall()]
        asked = [name for name in models if name in idle]
        if asked:
            next = "leave it out, or ingest a model that computes"
            raise CharzError("a model without operators has no answers", ", ".join(asked), next=next)
        if idle and not models:
            self.messages.warn(f"left out: {', '.join(idle)}, which have no operators")

    def part_name(self, name: str) -> str:
        """Return the id of a part, given its id, name or alias. Raise `CharzError` with similar names for an unknown name."""
        from charz.hardware_catalog import names

        part = names.resolve(self.catalog(), name)
        if self._scope.hardware and part not in self._scope.hardware:
            raise unknown_name("part", part, self._scope.hardware, "the session is scoped to these")
        return part

    def _names(self, table: str) -> list[str]:
        scoped = self._scope.models if table == "model" else self._scope.hardware
        query = f"SELECT {table} FROM {table} ORDER BY 1"
        return list(scoped) or [name for (name,) in self.connection().execute(query).fetchall()]

    def policies(self, given: Sequence[str]) -> list[str]:
        """Return precision policies without their other names (`awq`), and report these."""
        query = "SELECT policy, followed_policy FROM policy_version WHERE software = '*'"
        known = dict(self.catalog().execute(query).fetchall()) if given else {}
        for name in given:
            if name in known:
                self.messages.remark(f"{name}: precision policy {known[name]}")
        return list(dict.fromkeys(known.get(name, name) for name in given))

    def check_run(self, backends: Sequence[str], precisions: Sequence[str]) -> None:
        """Raise `CharzError` for an unknown backend or precision policy."""
        known = {"precision": "SELECT DISTINCT policy FROM precision_policy", "backend": "SELECT backend FROM backend"}
        for kind, given in (("precision", precisions), ("backend", backends)):
            names = [name for (name,) in self.catalog().execute(known[kind]).fetchall()]
            for name in given:
                if name not in names:
                    self._check_no_format(name)
                    raise unknown_name(kind, name, names)

    def _check_no_format(self, name: str) -> None:
        """Raise `CharzError` for a number format in which policies of other names keep weights, such as `int4`."""
        rows = self.catalog().execute("SELECT policy, weight_precision FROM precision_policy").fetchall()
        found = sorted({policy for policy, kept in rows if kept and (kept == name or kept.startswith(f"{name}_"))})
        if found:
            raise CharzError("a format and not a precision policy", name, f"policies that keep weights in it: {', '.join(found)}")

    def _stored(self, models: Sequence[str], question: Question) -> tuple[str, ...]:
        """Return the precision policies of the models' checkpoints, in the order in which a part tries them, if all checkpoints have the same policy.
        A part without fp8 reads fp8 weights and computes in 16 bits."""
        if not question.is_as_stored:
            return ()
        query = "SELECT any_value(stored_policy) FROM model WHERE list_contains(?, model)"
        ((stored,),) = self.connection().execute(query, [list(models)]).fetchall()
        if stored is None:
            return ()
        return (stored, "w8a16") if stored in ("fp8", "fp8_block") else (stored,)

    def named_parts(self, names: Sequence[str]) -> list[str]:
        """Return the parts of these names; without names those of the session's scope, or else all."""
        return [self.part_name(name) for name in names] or list(self._scope.hardware) or self._names("hardware")

    def linked_devices(self) -> dict[str, int]:
        """Return the largest number of devices that a link of each part joins."""
        query = "SELECT hardware, CAST(MAX(link_device_count) AS BIGINT) FROM part_link GROUP BY hardware"
        return dict(self.connection().execute(query).fetchall())

    def by_build(self, question: Question) -> list[Question]:
        """Divide a question without a version into those about AMD parts, by the server whose builds for AMD have numbers, and one about the
        others. Parts whose servers have no such builds are asked with the others: a run of several parts is evaluated once. A question about
        several versions is divided by the versions that run on a part."""
        if len(question.backends) > 1:
            return [question]
        if any(run.get("engine_version") for run in question.runs):
            return self._by_versions(question)
        building = "SELECT DISTINCT backend FROM engine_version WHERE contains(engine_version, ?)"
        builders = {name for (name,) in self.connection().execute(building, [releases.ROCM]).fetchall()}
        amd = [name for (name,) in self.connection().execute("SELECT hardware FROM hardware WHERE vendor = 'amd'").fetchall()]
        built = {part: backend for part, backend in self._servers_of(amd, question).items() if backend in builders}
        groups: dict[str | None, list[str]] = {}
        for part in self.named_parts(question.hardware):
            groups.setdefault(built.get(part), []).append(part)
        return [replace(question, hardware=group) for group in groups.values()] if len(groups) > 1 else [question]

    def _by_versions(self, question: Question) -> list[Question]:
        """Divide a question about several versions of servers by those whose compute capability the parts have, and report the others."""
        versions = dict.fromkeys(run.get("engine_version") for run in question.runs)
        if len(versions) == 1:
            return [question]
        known = Capabilities.read(self.connection())
        parts = self.named_parts(question.hardware)
        servers = self._servers_of(parts, question)
        groups: dict[tuple[str | None, ...], list[str]] = {}
        for part in parts:
            able = tuple(version for version in versions if part not in servers or not known.lacks(part, servers[part], version))
            groups.setdefault(able or tuple(versions), []).append(part)
        for able, members in groups.items():
            for version in (version for version in versions if version not in able):
                told = f"{servers[members[0]]} {version} needs compute capability {known.least(servers[members[0]], version)}"
                self.messages.warn(f"left out: {some(members, SAID_PARTS)}: {told}")
        return [
            replace(question, hardware=members, runs=[run for run in question.runs if run.get("engine_version") in able])
            for able, members in groups.items()
        ]

    def _servers_of(self, parts: Sequence[str], question: Question) -> dict[str, str]:
        """Return the server that each part takes: that of the question, or the part's usual one."""
        if question.backends:
            return dict.fromkeys(parts, question.backends[0])
        usual = "SELECT hardware, backend FROM supported_backend WHERE serves AND is_default AND list_contains(?, hardware)"
        return dict(self.connection().execute(usual, [list(parts)]).fetchall())

    def _released(self, parts: Sequence[str], question: Question, runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Give the runs of servers versions that have numbers: the nearest to the one asked for, and on AMD parts the newest of their builds.
        Report them."""
        if not question.serves and not any(run.get("engine_version") for run in runs):
            return runs
        vendors = "SELECT DISTINCT vendor FROM hardware WHERE list_contains(?, hardware)"
        is_amd = self.connection().execute(vendors, [list(parts)]).fetchall() == [("amd",)]
        backends = list(question.backends) or (sorted(set(self._servers_of(parts, question).values())) if is_amd else [])
        if len(backends) != 1:
            return runs
        query = "SELECT engine_version FROM engine_version WHERE backend = ?"
        known = [version for (version,) in self.connection().execute(query, backends).fetchall()]
        named: dict[str | None, str | None] = {}
        for version in {run.get("engine_version") for run in runs}:
            if version is None:
                named[version] = releases.newest(known, is_amd=True) if is_amd else None
            elif version not in known:
                named[version] = releases.nearest(version, known, is_amd=is_amd)
            if named.get(version):
                told = f"{version}: {backends[0]} {named[version]} is the nearest with numbers"
                self.messages.remark(told if version else f"AMD parts: {backends[0]} {named[version]}, the newest of their builds with numbers")
        return [{**run, "engine_version": named.get(run.get("engine_version")) or run.get("engine_version")} for run in runs]

    def _check_engines(self, backends: Collection[str], runs: Sequence[Mapping[str, Any]]) -> None:
        """Raise `CharzError` for a version that none of the backends has, and for an unknown format of the KV cache."""
        if wanted := {run["engine_version"] for run in runs if run.get("engine_version")}:
            query = "SELECT engine_version FROM engine_version WHERE list_contains(?, backend) ORDER BY ALL"
            known = [name for (name,) in self.connection().execute(query, [sorted(backends)]).fetchall()]
            for name in sorted(wanted.difference(known)):
                raise unknown_name(f"version of {', '.join(sorted(backends))}", name, known)
        if kept := {run["kv_precision"] for run in runs if run.get("kv_precision")}:
            known = [name for (name,) in self.connection().execute("SELECT precision FROM precision").fetchall()]
            for name in sorted(kept.difference(known)):
                raise unknown_name("precision", name, known)

    def _check_caps(self, parts: Sequence[str], caps: Sequence[str]) -> None:
        """Raise `CharzError` for a word that names neither a power mode nor a limit in watts; report the parts that lack a named mode."""
        for cap in caps:
            if cap == DEFAULT_MODE:
                continue
            if re.fullmatch(r"\d+(\.\d+)?w", cap):
                self._check_limit(parts, cap)
                continue
            query = "SELECT hardware, mode FROM hardware_power WHERE NOT is_default"
            modes = self.connection().execute(query).fetchall()
            known = sorted({mode for part, mode in modes if not parts or part in parts})
            able = {part for part, mode in modes if mode == cap}
            if not able.intersection(parts or able):
                raise CharzError(
                    "unknown power mode",
                    cap,
                    f"there are {', '.join([DEFAULT_MODE, *known])}",
                    "or write a limit as 150w",
                )
            if lacking := [part for part in parts if part not in able]:
                self.messages.warn(f"left out: {cap} on {', '.join(lacking)}, which lack this mode")

    def _check_limit(self, parts: Sequence[str], cap: str) -> None:
        """Raise `CharzError` for a limit below the lowest setting of a part, and name that setting."""
        query = "SELECT hardware, least_w FROM power_range"
        least = {part: watt for part, watt in self.connection().execute(query).fetchall() if part in parts}
        if low := {part: watt for part, watt in least.items() if watt > float(cap.removesuffix("w"))}:
            named = ", ".join(f"{part} at {watt:g}w" for part, watt in low.items())
            raise CharzError(
                "a limit below the lowest setting of the board", cap, f"the lowest: {named}", "ask for the lowest or more"
            )

    def _untrained(self, models: Sequence[str]) -> set[str]:
        """Return the backends and precision policies that do not train, if all models of a question have a backward pass."""
        query = "SELECT bool_and(is_training) FROM model WHERE list_contains(?, model)"
        ((is_training,),) = self.connection().execute(query, [models or self._names("model")]).fetchall()
        return self._training("NOT trains") if is_training else set()

    def _training(self, which: str) -> set[str]:
        """Return the backends and policies that meet the condition `which`: `trains` or `NOT trains`."""
        policies = "SELECT policy AS name, policy NOT IN (FROM untrained_policy) AS trains FROM precision_policy"
        query = f"SELECT name FROM (SELECT backend AS name, trains FROM backend UNION {policies}) WHERE {which}"
        return {name for (name,) in self.connection().execute(query).fetchall()}

    def _trained(self, question: Question, untrained: set[str]) -> Question:
        """Return the question without backends and precisions that do not train, and report the removed names. Raise `CharzError` if no name remains
        on an axis."""
        backends, precisions, preferred = (
            [name for name in values if name not in untrained]
            for values in (question.backends, question.precisions, question.preferred)
        )
        lost = [name for name in (*question.backends, *question.precisions) if name in untrained]
        if lost:
            trained = ", ".join(sorted(self._training("trains")))
            if (question.backends and not backends) or (question.precisions and not precisions):
                raise CharzError("this does not train", ", ".join(lost), f"these do: {trained}")
            self.messages.warn(f"left out: {', '.join(lost)}, which does not train a model; these do: {trained}")
        return replace(question, backends=backends, precisions=precisions, preferred=preferred)

    def _excluded(self, parts: Sequence[str], runs: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], str]:
        """Return the pairs of part and server that the part's compute capability excludes, with the one that is needed."""
        known = Capabilities.read(self.connection())
        return known.lacking(parts or known.parts, known.needed, {run.get("engine_version") for run in runs})

    def _targets(
        self, parts: Sequence[str], question: Question, precisions: Sequence[str], untrained: set[str], lacking: Mapping[tuple[str, str], str] = {}
    ) -> list[Triple]:
        """Return the targets of a question. Each part takes every named backend, by default the backend assumed on the part, in every named precision,
        by default the first precision that the part computes in. By default the question asks all parts. A part takes no server of the pairs in
        `lacking`; without a named server or version it takes the next one."""
        connection = self.connection()
        is_bound = bool(question.backends) or any(run.get("engine_version") for run in question.runs)
        refused: dict[str, list[str]] = {}
        assumed_by_part = {} if question.precisions or question.serves else self._assumed_precisions(untrained)
        order = "hardware, serves = ? DESC, is_default DESC, backend"
        support = f"SELECT hardware, backend, is_counterpart, serves FROM supported_backend ORDER BY {order}"
        backends: dict[str, list[str]] = {}
        for part, backend, is_counterpart, serves in connection.execute(support, [question.serves]).fetchall():
            is_wanted = (
                backend in question.backends
                if question.backends
                else part not in backends
                or (
                    question.every_backend
                    and serves == question.serves
                    and (question.with_counterparts or not is_counterpart)
                )
            )
            if is_wanted and backend not in untrained and (not parts or part in parts):
                if (part, backend) in lacking:
                    refused.setdefault(part, []).append(backend)
                elif question.backends or not (is_bound and part in refused):
                    backends.setdefault(part, []).append(backend)
        self._say_excluded(refused, lacking, backends)
        from charz.sql.scopes import stored

        assumed: dict[tuple[str, str], str] = {}
        if not (question.backends or question.serves) and (question.is_as_run or not question.every_backend):
            # `assumed_backend` follows from the catalog alone, so the file's rows answer also where an engine evaluates the models.
            query = f"SELECT hardware, precision, backend FROM {stored(connection, 'assumed_backend')} WHERE is_by_kind"
            rows = connection.execute(query).fetchall()
            assumed = {(part, precision): backend for part, precision, backend in rows if backend not in untrained}
        found = connection.execute("SELECT hardware, backend, precision FROM part_support").fetchall()
        able = {
            (part, backend, precision)
            for part, backend, precision in found
            if part in backends
            and (precision in precisions or precision in assumed_by_part.get(part, ()))
            and (backend == assumed[part, precision] if (part, precision) in assumed else backend in backends[part])
        }
        if question.serves and not question.precisions:
            able = self._launched_formats(able, {*question.beside, *precisions[:1]})
        if not question.precisions and question.is_first:
            computed: dict[str, set[str]] = {}
            for part, _, precision in able:
                computed.setdefault(part, set()).add(precision)
            first = {
                part: next(name for name in (*assumed_by_part.get(part, ()), *precisions) if name in known)
                for part, known in computed.items()
            }
            able = {t for t in able if first[t[0]] == t[2] or (t[2] in question.beside and first[t[0]] in HALVES)}
        if not question.precisions and not question.is_strict:
            usual = self._usual_policies(untrained)
            able = {(p, b, usual.get((p, b), policy) if policy == SINGLE else policy) for p, b, policy in able}
        return sorted(able)

    def _say_excluded(self, refused: Mapping[str, Sequence[str]], lacking: Mapping[tuple[str, str], str], taken: Mapping[str, Sequence[str]]) -> None:
        """Report the parts whose compute capability is too small for a server, and the server that each takes in its place."""
        if refused:
            pairs = {(part, backend): lacking[part, backend] for part, names in refused.items() for backend in names}
            for line in Capabilities.read(self.connection()).told(pairs, {part: names[0] for part, names in taken.items()}):
                self.messages.warn(line)

    def _launched_formats(self, able: set[Triple], told: Collection[str]) -> set[Triple]:
        """Filter the targets of servers that convert a checkpoint to files of their own, in other formats. Report the formats in `told` that are
        left out."""
        query = "SELECT engine, list(value ORDER BY value) FROM launch_flag WHERE setting = 'precision' GROUP BY engine"
        found = self.connection().execute(query).fetchall()
        formats = {ENGINES[engine]: values for engine, values in found if "stored" not in values}
        lacking = {target for target in able if target[2] not in formats.get(target[1], [target[2]])}
        for backend in sorted({backend for _, backend, precision in lacking if precision in told}):
            others = ", ".join(sorted({precision for _, name, precision in lacking if name == backend and precision in told}))
            self.messages.remark(f"left out: {others} under {backend}, which runs {', '.join(formats[backend])}")
        return able - lacking

    def _linked(self, targets: list[Triple], question: Question) -> list[Triple]:
        """Filter the targets of a question that includes the transfer of inputs: only host processors and parts with a link to the host can receive
        inputs from host memory. Report the other parts; raise `CharzError` if no target remains."""
        if not question.fields.get("input_host_fraction"):
            return targets
        linked = {
            part
            for query in (
                "SELECT hardware FROM part_link WHERE interconnect = 'pcie'",
                "SELECT DISTINCT hardware FROM part_support WHERE dispatch = 'serial'",
            )
            for (part,) in self.connection().execute(query).fetchall()
        }
        found = [target for target in targets if target[0] in linked]
        if lost := sorted({part for part, *_ in targets} - linked):
            if not found:
                next = "leave out --include-transfer, or add an interconnect `pcie` to the part"
                raise CharzError("no link to the host is stated", ", ".join(lost), next=next)
            self.messages.warn(f"left out: {', '.join(lost)}, which state no link to the host")
        return found

    def _assumed_precisions(self, untrained: Collection[str]) -> dict[str, tuple[str, ...]]:
        """Return the policies that each part's family assumes, in order."""
        query = "SELECT hardware, assumed_precision, second_precision FROM hardware JOIN hardware_family USING (family)"
        found = self.connection().execute(query).fetchall()
        return {part: tuple(p for p in policies if p and p not in untrained) for part, *policies in found}

    def _say_mixed(self, targets: Sequence[Triple]) -> None:
        """Report the precisions of each part if they differ between parts."""
        asked: dict[str, set[str]] = {}
        for part, _, precision in targets:
            asked.setdefault(part, set()).add(precision)
        parts: dict[tuple[str, ...], list[str]] = {}
        for part, found in sorted(asked.items()):
            parts.setdefault(tuple(sorted(found)), []).append(part)
        if len(parts) > 1:
            told = [f"{', '.join(precisions)} on {some(names, SAID_PARTS)}" for precisions, names in sorted(parts.items())]
            self.messages.warn(f"precisions differ: {'; '.join(told)}; --precision sets one for all")

    def usual_policy(self, parts: Sequence[str], backends: Sequence[str]) -> str:
        """Return the default policy of a question about these parts and backends, or single precision if the default differs between targets."""
        parts = [self.part_name(name) for name in parts] or list(self._scope.hardware)
        question = Question(hardware=parts, backends=backends)
        found = {policy for *_, policy in self._targets(parts, question, question.preferred, set())}
        return found.pop() if len(found) == 1 else SINGLE

    def _usual_policies(self, untrained: Collection[str] = ()) -> dict[tuple[str, str], str]:
        """Return the default policy of each backend on each part. It replaces single precision in questions that name no precision."""
        query = "SELECT hardware, backend, precision FROM part_support WHERE precision = default_precision"
        found = self.connection().execute(query).fetchall()
        return {(part, backend): policy for part, backend, policy in found if policy not in untrained}

    def _say_left_out(
        self,
        parts: Sequence[str],
        question: Question,
        precisions: Sequence[str],
        targets: Sequence[Triple],
        untrained: set[str],
        lacking: Mapping[tuple[str, str], str] = {},
    ) -> None:
        """Report the named backends and precisions that a part does not run. Raise `CharzError` if no target remains."""
        reasons = []
        small = self._too_small(question, lacking) - {part for part, *_ in targets}
        for part in parts:
            backends = {backend for name, backend, _ in targets if name == part}
            able = {precision for name, _, precision in targets if name == part}
            if part in small:
                continue
            if not able:
                reasons.append(self._not_executed(part, question.backends, precisions, untrained))
                continue
            if missing := [name for name in question.backends if name not in backends and (part, name) not in lacking]:
                reasons.append(CharzError("left out", f"{', '.join(missing)} on {part}", self._has(part)))
            if missing := [name for name in question.precisions if name not in able]:
                reasons.append(CharzError("left out", f"{', '.join(missing)} on {part}", self._computes_in(part)))
        if not targets:
            nothing = CharzError(
                "no part runs this combination", ", ".join(question.models), next="widen --precision or --backend"
            )
            if small and not reasons:
                told = "a server needs a larger compute capability"
                raise CharzError("no part runs this combination", some(sorted(small), SAID_PARTS), told, "leave out --backend or --version, or name another")
            raise reasons[0] if reasons else nothing
        if reasons:
            self.messages.warn("left out: " + "; ".join(f"{reason.where}, {reason.exists}" for reason in reasons))
        elif not parts and (question.backends or question.precisions):
            query = "SELECT count(*) FROM hardware"
            ((count,),) = self.connection().execute(query).fetchall()
            running = len({target[0] for target in targets})
            if running < count:
                named = ", ".join((*question.backends, *question.precisions))
                self.messages.warn(f"left out: {count - running} of {count} parts, which do not run {named}")

    def _too_small(self, question: Question, lacking: Mapping[tuple[str, str], str]) -> set[str]:
        """Return the parts whose compute capability excludes every named server, or the server of the named version."""
        excluded: dict[str, set[str]] = {}
        for part, backend in lacking:
            excluded.setdefault(part, set()).add(backend)
        if question.backends:
            named = {part: set(question.backends) & set(self._backends(part)) for part in excluded}
            return {part for part, servers in named.items() if servers and servers <= excluded[part]}
        return set(excluded) if any(run.get("engine_version") for run in question.runs) else set()

    def _not_executed(
        self, part: str, backends: Sequence[str], precisions: Sequence[str], untrained: set[str]
    ) -> CharzError:
        supported = self._backends(part)
        if not supported:
            return CharzError("no backend runs on this part", part, "none", "add a row to backend_support")
        if untrained.issuperset(supported):
            return CharzError("no backend of this part trains", part, self._has(part))
        if backends and not set(backends) & set(supported):
            where = f"{', '.join(backends)} on {part}"
            return CharzError("this backend does not run on this part", where, self._has(part))
        where = f"{', '.join(precisions)} on {part}"
        return CharzError("this part does not compute in this precision", where, self._computes_in(part))

    def _backends(self, part: str) -> list[str]:
        """Return the backends that run on a part, the assumed backend first."""
        query = "SELECT backend FROM supported_backend WHERE hardware = ? ORDER BY serves, is_default DESC, backend"
        return [name for (name,) in self.connection().execute(query, [part]).fetchall()]

    def _has(self, part: str) -> str:
        """List a part's backends in a message, without unfused counterparts."""
        which = "hardware = ? AND NOT is_counterpart ORDER BY serves, is_default DESC, backend"
        query = f"SELECT backend FROM supported_backend WHERE {which}"
        return f"it has {', '.join(name for (name,) in self.connection().execute(query, [part]).fetchall())}"

    def _computes_in(self, part: str) -> str:
        query = "SELECT precision FROM hardware_rate WHERE hardware = ? AND is_native ORDER BY precision"
        return f"it computes in {', '.join(p for (p,) in self.connection().execute(query, [part]).fetchall())}"
