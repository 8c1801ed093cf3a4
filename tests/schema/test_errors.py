"""The one line that a user reads."""

from __future__ import annotations

import pickle

from hypothesis import given
from hypothesis import strategies as st

from charz.schema.errors import CharzError, nearest_names, unknown_name


@given(st.text(min_size=1), st.text(), st.text(), st.text())
def test_an_error_is_one_line_and_survives_a_process_border(what: str, where: str, exists: str, next: str) -> None:
    error = CharzError(what, where, exists, next)
    assert len(error.line.splitlines()) <= 1
    assert pickle.loads(pickle.dumps(error)).line == error.line


def test_its_parts_are_sentences() -> None:
    error = CharzError("unknown part", "h10", "nearest: h100_pcie_80", "`charz hardware list` shows all.")
    assert str(error) == "unknown part: h10. Nearest: h100_pcie_80. `charz hardware list` shows all."


def test_code_keeps_its_case() -> None:
    for code in (
        "hf:NAME takes a shipped one",
        "torch.export.save(p, 'm.pt2') writes one",
        "pip install x",
        "m:make has it",
    ):
        assert CharzError("wrong", "here", code).line == f"wrong: here. {code}."
    assert (
        CharzError("wrong", "here", "units: s, ms", "write e.g. 5ms").line
        == "wrong: here. Units: s, ms. Write e.g. 5ms."
    )


def test_names_that_contain_what_was_typed_come_first() -> None:
    assert nearest_names("h100", ["a100", "h100_pcie_80", "h100_sxm5_80", "t4"])[:2] == ["h100_pcie_80", "h100_sxm5_80"]
    assert nearest_names("resnt50", ["resnet50", "vgg16"]) == ["resnet50"]


def test_without_a_near_name_what_exists_is_listed() -> None:
    assert "There are a, b" in unknown_name("backend", "zzz", ["b", "a"]).line
    assert "There are none yet" in unknown_name("model", "zzz", []).line
