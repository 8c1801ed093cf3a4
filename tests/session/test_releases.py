"""Releases of servers, and the nearest with numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from charz.session import releases

KNOWN = ["v0.6", "v0.11", "v0.13", "v0.5.9-rocm", "v0.5.12-rocm", "lmdeploy-turbo"]


@pytest.mark.parametrize(
    ("version", "is_amd", "found"),
    [
        ("v0.12", False, "v0.11"),  # equally near to v0.13: the earlier
        ("vllm-openai:v0.13.0", False, "v0.13"),
        ("release:1.2.0rc2", False, "v0.13"),
        ("sglang:v0.5.11-rocm700-mi30x", False, "v0.5.12-rocm"),
        ("v0.5.9", True, "v0.5.9-rocm"),
        ("nightly", False, None),
    ],
)
def test_nearest(version: str, is_amd: bool, found: str | None) -> None:
    """Minor releases count before patches, and a build for AMD parts stays with them."""
    assert releases.nearest(version, KNOWN, is_amd=is_amd) == found


def test_newest() -> None:
    """Numbers are compared as numbers."""
    assert releases.newest(KNOWN, is_amd=True) == "v0.5.12-rocm"
    assert releases.newest(KNOWN, is_amd=False) == "v0.13"
    assert releases.newest(["x"], is_amd=False) is None


@given(st.integers(0, 99), st.integers(0, 99))
def test_a_known_release_is_its_own_nearest(major: int, minor: int) -> None:
    """Whatever else is known."""
    own = f"v{major}.{minor}"
    assert releases.nearest(own, [*KNOWN, own]) in {own, *(name for name in KNOWN if releases.number(name) == releases.number(own))}
