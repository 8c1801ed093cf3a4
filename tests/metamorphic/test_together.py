"""An answer depends only on the values that it names: asked together, in any order, again, live or at hand, it equals the answer
to each alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import charz
from charz.session import CharzWarning, Session

from .questions import COMMANDS, SINGLE, VALUES, Command, ask, difference, of_value, widened

MOST_OF_AN_AXIS = 2
"""Number of draws of an axis in the default tests."""

LONG = 500
"""Number of draws of the long run."""

UNSHRUNK = (Phase.explicit, Phase.generate)
"""Phases of a test that shows the question it drew, without shrinking, which takes minutes."""

Pair = tuple[Command, str]

PAIRS: list[Pair] = [(command, axis) for command in COMMANDS for axis in command.axes]


def _drawn_by_default() -> Iterator[Pair]:
    """Yield pairs of a method and an axis: every method at least once and every axis some times."""
    seen: Counter[str] = Counter()
    for command, axis in sorted(PAIRS, key=lambda pair: (PAIRS.index(pair) * 7) % len(PAIRS)):
        if seen[axis] < MOST_OF_AN_AXIS or not seen[str(command)]:
            seen.update([axis, str(command)])
            yield command, axis


@st.composite
def questions_of(draw: st.DrawFn, command: Command, axis: str) -> tuple[Command, list[Any], Any]:
    """Draw a method with other values of some axes, several values of one axis, and one of these."""
    moved = draw(st.lists(st.sampled_from([a for a in command.axes if a != axis] or [axis]), max_size=2, unique=True))
    base = {**command.base, **{a: draw(st.sampled_from(VALUES[a])) for a in moved if a != axis}}
    values = draw(st.lists(st.sampled_from(VALUES[axis]), min_size=2, max_size=3, unique=True))
    return Command(command.method, base, command.axes, command.relative), values, draw(st.sampled_from(values))


def check_together(path: Path, command: Command, axis: str, values: list[Any], value: Any) -> None:
    """Compare the rows of one value within a larger answer with the answer to that value alone."""
    with charz.open(path) as db:
        together = ask(db, command.method, **widened(command, axis, values))
    with charz.open(path) as db:
        alone = ask(db, command.method, **widened(command, axis, [value]))
    found = None if together is None else of_value(together, axis, value)
    relative = command.relative.get(axis, ())
    assert not difference(found, alone, relative), (widened(command, axis, values), value)


DEFAULT = list(_drawn_by_default())


@pytest.mark.parametrize(("command", "axis"), DEFAULT, ids=[f"{c}-{a}" for c, a in DEFAULT])
def test_asked_together_and_alone(networks: Path, command: Command, axis: str) -> None:
    @settings(max_examples=1, phases=UNSHRUNK)
    @given(drawn=questions_of(command, axis))
    def check(drawn: tuple[Command, list[Any], Any]) -> None:
        asked, values, value = drawn
        check_together(networks, asked, axis, values, value)

    check()


@pytest.mark.broad
@settings(max_examples=LONG, derandomize=False, phases=UNSHRUNK)
@given(drawn=st.sampled_from(PAIRS).flatmap(lambda pair: st.tuples(st.just(pair[1]), questions_of(*pair))))
def test_asked_together_and_alone_for_long(
    networks: Path, drawn: tuple[str, tuple[Command, list[Any], Any]]
) -> None:
    axis, (command, values, value) = drawn
    check_together(networks, command, axis, values, value)


def test_every_axis_is_drawn_twice() -> None:
    drawn = Counter(axis for _, axis in DEFAULT)
    assert set(drawn) == set(VALUES)
    assert {str(command) for command, _ in DEFAULT} == {str(command) for command in COMMANDS}
    assert min(drawn.values()) >= 2


@pytest.mark.parametrize(("method", "named"), SINGLE, ids=lambda v: v if isinstance(v, str) else "")
def test_asked_again_in_one_session(networks: Path, method: str, named: dict[str, Any]) -> None:
    """A repeated question after another question has the first answer."""
    with charz.open(networks) as db:
        first = ask(db, method, **named)
        ask(db, "compare", models="net,language", on=named["on"], batch="1,2")
        second = ask(db, method, **named)
    assert first is not None
    assert not difference(first, second)


@pytest.mark.parametrize("parts", ["i7_13700k,rtx4090", "tpu_v4,kpu_t64"])
def test_a_trained_model_takes_its_own_backend(networks: Path, parts: str) -> None:
    """A model that runs on OpenVINO alone does so together with a trained one, which runs eager."""
    models = ("net", "net_trained,train", "language")
    with charz.open(networks) as db:
        # A model's name may contain a comma, so names are given one by one.
        together = ask(db, "compare", models=list(models), on=parts, batch=2)
    assert together is not None
    for model in models:
        with charz.open(networks) as db:
            alone = ask(db, "compare", models=[model], on=parts, batch=2)
        assert not difference(of_value(together, "models", model), alone), model


def test_a_model_that_runs_on_nothing_is_named_once(db: Session) -> None:
    """OpenVINO does not train: one line reports that the trained model is left out, and the other answers do not change."""
    models = ["net", "net_trained,train"]
    with pytest.warns(CharzWarning) as said:
        found = db.compare(models, on="i7_13700k", backend="openvino", batch=2)
    assert set(found["model"]) == {"net"}
    assert len([line for line in said if "net_trained,train" in str(line.message)]) == 1
    with charz.open(db.path) as other:
        assert not difference(found, ask(other, "compare", models="net", on="i7_13700k", backend="openvino", batch=2))


@pytest.mark.parametrize("values", [("rtx4090", "tpu_v4"), ("kpu_t64", "i7_13700k", "h100_sxm5_80")])
def test_order_changes_no_row(db: Session, values: tuple[str, ...]) -> None:
    named = {"models": "net,language", "batch": "1,2"}
    one = ask(db, "compare", on=",".join(values), **named)
    other = ask(db, "compare", on=",".join(reversed(values)), **{**named, "models": "language,net", "batch": "2,1"})
    assert one is not None
    assert not difference(one, other)


@pytest.mark.parametrize(
    ("method", "named"),
    [
        ("compare", {"models": "net,language", "on": "rtx4090,kpu_t64", "batch": 1}),
        ("compare", {"models": "net", "on": "t4,gaudi3", "section": "price"}),
        ("compare", {"models": "net", "on": "tpu_v4", "batch": "1,8", "section": "saturation"}),
        ("recommend", {"models": "net", "on": "t4,kpu_t256"}),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_live_and_at_hand(networks: Path, method: str, named: dict[str, Any]) -> None:
    with charz.open(networks) as at_hand, charz.open(networks, is_live=True) as live:
        one, other = ask(at_hand, method, **named), ask(live, method, **named)
    assert one is not None
    assert not difference(one, other)


@pytest.mark.parametrize("part", ["rtx4090", "kpu_t256"])
def test_session_and_plain_sql(networks: Path, part: str) -> None:
    """A plain client reads the number that the session prints."""
    import duckdb

    with charz.open(networks) as db:
        (row,) = db.compare("net", on=part, batch=1).rows(named=True)
    numbers = ("latency_s", "energy_per_sample_j", "peak_memory_byte")
    query = f"""
        SELECT {", ".join(numbers)} FROM {{}}model_report
        WHERE model = 'net' AND hardware = ? AND backend = ? AND precision = ? AND batch = 1 AND sequence = ?
    """
    keys = [part, row["backend"], row["precision"], row["sequence"]]
    with duckdb.connect(str(networks), read_only=True) as client:
        for schema in ("", "answer."):
            found = client.execute(query.format(schema), keys).fetchall()
            assert found[:1] == [pytest.approx([row[name] for name in numbers])]
