"""Hostile part files: refused in one line, at once, in little memory."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from charz.hardware_catalog import document, loader
from charz.hardware_catalog.loader import Catalog
from charz.schema.errors import CharzError

WritePart = Callable[..., Path]

BOMB = "a: &a [1,1,1,1,1,1,1,1,1]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)
"""Nine values in nine aliases, nine times: 9^9 values."""


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (BOMB.encode(), r"line 2: an alias, \*a: write every value out"),
        (b"id: " + b"x" * 5000, "a value of 5,000 letters"),
        (b"[" * 100_000, "nested deeper than 20 times"),
        (b"- " * 5_000 + b"1", "nested deeper than 20 times"),
        (b"x: 0x" + b"f" * 4998, "a value of 5,000 letters"),
        (b"[" + b"1," * 30_000 + b"]", "more than 20,000 values"),
        (b"#" * (2**20 + 1), "more than 1,048,576 bytes"),
        (b"id: \xff\xfe", "not UTF-8 text"),
        (b"id: 2020-13-45", "schema: missing"),
        (b"id: !!python/object/apply:os.system [ls]", "line 1: a tag, tag:yaml.org,2002:python/object/apply:os.system"),
        (b"id: \x00", "control characters are not allowed|special characters"),
        (b"? [a, b]\n: c", "line 1: a key that is no text"),
        (b"[1, 2]", "not a mapping"),
        (b"", "not a mapping"),
        (b"id: [", "did not find expected"),
    ],
)
def test_a_document_that_is_no_part(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "part.yaml"
    path.write_bytes(content)
    began = time.process_time()
    with pytest.raises(CharzError, match=message) as caught:
        loader.load_part(path, Catalog())
    assert time.process_time() - began < 1
    assert "\n" not in caught.value.line
    assert len(caught.value.line) < 1000


def test_what_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    for path, message in (
        (tmp_path, "not a file"),
        (tmp_path / "pipe.yaml", "not a file"),
        (tmp_path / "none.yaml", "No such file"),
    ):
        with pytest.raises(CharzError, match=message):
            document.read(path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("value: 40,", "value: .inf,", "write a number from 1e-30 to 1e\\+30"),
        ("value: 40,", "value: -.inf,", "write a number from 1e-30 to 1e\\+30"),
        ("value: 40,", "value: .nan,", "write a number from 1e-30 to 1e\\+30"),
        ("value: 40,", "value: 1.0e+308,", "write a number from 1e-30 to 1e\\+30"),
        ("value: 40,", "value: 1.0e-300,", "write a number from 1e-30 to 1e\\+30"),
        ("value: 10,", "value: 0,", "write a number from 1 to 1e\\+09"),
        ("value: 40,", "value: 0x" + "f" * 1500 + ",", "write a number from 1e-30 to 1e\\+30"),
        ("value: 10,", "value: 1.0e+25,", "write a number from 1 to 1e\\+09"),
        ("value: 10,", "value: [10],", "write a number"),
        ("value: 10,", "value: yes,", "write a number"),
        ("vendor: nobody", "vendor: nobody\naliases: 5", "write a list of names"),
        ("vendor: nobody", "vendor: nobody\naliases: [[5]]", "write a list of names"),
        ("vendor: nobody", "vendor: [nobody]", "write it as text"),
        ("vendor: nobody", "vendor: nobody\nenergy: {op: [1]}", "write a mapping from name to number"),
        ("vendor: nobody", "vendor: nobody\nconflicts: 5", "give it field"),
        ("    cluster: sm\n", "    cluster: [sm]\n", "write it as"),
        ("    cluster: sm\n", "    cluster: sm\n    cluster_ops_per_clock: 5\n", "from cluster to number"),
        ("is_default: true", "is_default: {}", "write true or false"),
        ("scope: chip", "scope: 5", "write it as"),
    ],
)
def test_a_value_of_another_kind(catalog: Catalog, write_part: WritePart, old: str, new: str, message: str) -> None:
    path = write_part({old: new})
    with pytest.raises(CharzError, match=message) as caught:
        loader.load_part(path, catalog)
    assert "\n" not in caught.value.line


def test_a_part_without_rates(tmp_path: Path, catalog: Catalog, small_part: str) -> None:
    path = tmp_path / "part.yaml"
    path.write_text(yaml.safe_dump({**yaml.safe_load(small_part), "peak": {}, "cluster": {}}))
    with pytest.raises(CharzError, match="at least one cluster"):
        loader.load_part(path, catalog)


def test_a_bomb_takes_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "bomb.yaml"
    path.write_text(BOMB)
    code = f"""
import resource
from pathlib import Path
from charz.hardware_catalog import part_file
resource.setrlimit(resource.RLIMIT_CPU, (10, 10))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    part_file.read(Path({str(path)!r}))
except Exception as error:
    print(type(error).__name__, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    kind, mib = shown.split()
    assert kind == "CatalogError"
    assert int(mib) < 50


_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.dates()
    | st.binary(max_size=5)
    | st.sampled_from(["fp16", "sm", "dram", "assumption", "assumed", "hardware", 2**63, 2**70, 1e308, -1, 0])
)
_WORDS = st.sampled_from(
    ["value", "unit", "source", "confidence", "formula", "note", "op", "byte", "static", "cluster", "memory", "peak",
     "precision", "sparsity", "default", "sm", "dram", "l2", "peak_ops_per_s", "cluster_ops_per_clock", "scope"]
) | _SCALARS.filter(lambda v: not isinstance(v, bytes))  # fmt: skip
_ANYTHING = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_WORDS, inner, max_size=4), max_leaves=10
)


def _refused_or_read(path: Path, catalog: Catalog) -> None:
    began = time.process_time()
    try:
        loader.load_part(path, catalog)
    except CharzError as error:
        assert "\n" not in error.line
    assert time.process_time() - began < 5


def changed(data: st.DataObject, text: str) -> str:
    """Replace one to three of the part's values, at any place, by any value."""
    part: dict[str, Any] = yaml.safe_load(text)
    for _ in range(data.draw(st.integers(1, 3))):
        place: Any = part
        while isinstance(place, dict | list) and place:
            key = data.draw(st.sampled_from(list(place) if isinstance(place, dict) else list(range(len(place)))))
            if isinstance(place[key], dict | list) and data.draw(st.integers(0, 4)):
                place = place[key]
                continue
            if isinstance(place, dict) and not data.draw(st.integers(0, 9)):
                key = data.draw(_WORDS)
            place[key] = data.draw(_ANYTHING)
            break
    return yaml.safe_dump(part, allow_unicode=True)


_FIXTURES = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


@settings(max_examples=200, suppress_health_check=_FIXTURES)
@given(data=st.data())
def test_a_changed_part_is_read_or_refused(
    tmp_path: Path, catalog: Catalog, small_part: str, data: st.DataObject
) -> None:
    path = tmp_path / "part.yaml"
    path.write_text(changed(data, small_part), encoding="utf-8", errors="surrogatepass")
    _refused_or_read(path, catalog)


@settings(max_examples=300, suppress_health_check=_FIXTURES)
@given(content=st.binary(max_size=200) | _ANYTHING.map(lambda v: yaml.safe_dump(v).encode("utf-8", "surrogatepass")))
def test_any_file_is_read_or_refused(tmp_path: Path, catalog: Catalog, content: bytes) -> None:
    path = tmp_path / "part.yaml"
    path.write_bytes(content)
    _refused_or_read(path, catalog)


@pytest.mark.anew
@settings(max_examples=3000, derandomize=False, suppress_health_check=_FIXTURES)
@given(data=st.data())
def test_three_thousand_changed_parts(tmp_path: Path, catalog: Catalog, small_part: str, data: st.DataObject) -> None:
    path = tmp_path / "part.yaml"
    path.write_text(changed(data, small_part), encoding="utf-8", errors="surrogatepass")
    _refused_or_read(path, catalog)
