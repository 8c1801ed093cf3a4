"""Parts are read by the rules of YAML 1.2 with unique keys, and their names cannot be paths."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from charz.hardware_catalog import document, part_file
from charz.hardware_catalog.loader import ROOT
from charz.hardware_catalog.problem import CatalogError
from charz.schema.errors import CharzError
from charz.schema.units import in_si
from charz.session.catalog import hardware


def read(folder: Path, text: str) -> Any:
    path = folder / "part.yaml"
    path.write_text(text)
    return document.read(path)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a: 1\nb: 2\na: 3\n", "lines 1 and 3"),
        ("a: {b: 1, c: 2,\n  b: 3}\n", "lines 1 and 2"),
        ("x:\n  - {a: 1}\n  - a: 1\n    a: 1\n", "lines 3 and 4"),
        ("1: a\n'1': b\n", "lines 1 and 2"),
    ],
)
def test_a_key_that_is_there_twice_is_refused_with_both_lines(tmp_path: Path, text: str, lines: str) -> None:
    with pytest.raises(CatalogError, match=f"twice, in {lines}"):
        read(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1:28", "1:28"), ("yes", "yes"), ("off", "off"), ("1_000", "1_000"), ("2020-01-02", "2020-01-02"), ("0b11", "0b11"),
        ("010", 10), ("0o17", 15), ("0x1F", 31), ("1e9", 1e9), ("-.5", -0.5), (".inf", float("inf")), ("+3", 3),
        ("true", True), ("FALSE", False), ("~", None), ("", None), ("'3'", "3"), ("٤٠", "٤٠"), ("４０", "４０"), ("=", "="), ("<<", "<<"),
    ],
)  # fmt: skip
def test_plain_scalars_are_those_of_yaml_1_2(tmp_path: Path, text: str, value: object) -> None:
    found = read(tmp_path, f"a: {text}\n")["a"]
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize("text", ["a: !!python/object/apply:os.system ['true']", "a: !!int 3", "a: !x 3", "a: &x 1\nb: *x", "? [1]\n: 2"])
def test_tags_aliases_and_keys_of_several_values_are_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(CatalogError):
        read(tmp_path, text)


def test_the_shipped_parts_say_what_they_said() -> None:
    """Both readers agree: no shipped part contains a value that YAML 1.1 reads differently."""
    for path in sorted(ROOT.glob("parts/*/*.yaml"))[::7]:
        assert document.read(path) == yaml.load(path.read_text(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


@pytest.mark.parametrize("digits", ["٤٠", "４０", "४०"])
def test_digits_are_ascii(digits: str) -> None:
    assert digits.isdecimal() and in_si(digits, "") is None and in_si(f"{digits}GB/s", "byte/s") is None
    assert in_si("40GB/s", "byte/s") == 40e9


NAMES = ["../../x", "<script>", "rtх4090", "a" * 65, "a b", "T4", "x\u0000", "", "a.b", "x\n", "é"]


@pytest.mark.parametrize("name", NAMES)
def test_names_are_of_letters_that_lead_nowhere(name: str) -> None:
    assert not part_file.is_name(name)
    with pytest.raises(CharzError, match="not an id of a part"):
        hardware._name(name)


def test_names_of_64_letters_are_names() -> None:
    assert part_file.is_name("a" * 64) and part_file.is_name("rtx4090_24gb") and not part_file.is_name(4090)


@pytest.mark.parametrize("name", ["../../x", "<script>", "rtх4090", "T4"])
@pytest.mark.parametrize("place", ["id", "row", "source"])
def test_a_part_with_such_a_name_is_refused(tmp_path: Path, name: str, place: str) -> None:
    text = (ROOT / "parts" / "gpu" / "t4.yaml").read_text()
    part = yaml.safe_load(text)
    if place == "id":
        part["id"] = name
    elif place == "row":
        part["memory"][name] = part["memory"].pop("dram")
    else:
        part["sources"] = {name: {"kind": "vendor_doc", "locator": "x", "what": "x"}}
    path = tmp_path / "bad.yaml"
    path.write_text(yaml.safe_dump(part, allow_unicode=True, sort_keys=False))
    with pytest.raises(CatalogError) as caught:
        part_file.read(path)
    assert any(part_file.NAME_REMEDY in problem.remedy for problem in caught.value.problems)
