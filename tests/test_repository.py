"""The repository as a whole: links, wheel, dependencies, reference pages."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from charz.cli import reference

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("cli", "hardware_catalog", "ingest", "schema", "sql")
MODULES = ("__init__.py", "__main__.py", "confined.py", "py.typed", "sandbox.py", "session")
"""Entries of `src/charz` that are not links."""


def project() -> dict[str, object]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())  # type: ignore[no-any-return]


def test_every_top_level_package_is_linked() -> None:
    folder = ROOT / "src/charz"
    links = {p.name: str(p.readlink()) for p in folder.iterdir() if p.is_symlink()}
    assert links == {name: f"../../{name}" for name in PACKAGES}
    found = sorted(p.name for p in folder.iterdir() if not p.is_symlink() and p.name != "__pycache__")
    assert found == list(MODULES)


@pytest.fixture(scope="session")
def wheel(once: Callable[[str, Callable[[Path], object]], Path]) -> Path:
    """Wheel of the checkout, in a folder of the copy from which it was built."""
    pytest.importorskip("setuptools")
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip("not a git checkout: the files that belong to it are unknown")

    def make(copy: Path) -> None:
        for name in listed.stdout.splitlines():
            if (ROOT / name).exists():
                (copy / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, copy / name, follow_symlinks=False)
        script = "from setuptools import build_meta; print(build_meta.build_wheel('out'))"
        built = subprocess.run([sys.executable, "-c", script], cwd=copy, capture_output=True, text=True, check=False)
        assert built.returncode == 0, built.stderr

    (found,) = (once("wheel", make) / "out").glob("*.whl")
    return found


@pytest.mark.slow
def test_the_wheel_answers_in_an_environment_of_its_own(wheel: Path, tmp_path: Path) -> None:
    """The README's first command runs with only the wheel; this environment provides the packages that charz needs."""
    home = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
    (packages,) = home.glob("lib/python3*/site-packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    needed = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "needed.pth").write_text("\n".join(needed))
    python = home / "bin" / "python"
    (entry,) = packages.glob("charz_dnn-*.dist-info/entry_points.txt")
    assert "charz = charz.cli:main" in entry.read_text()
    (command,) = re.findall(r"\.venv/bin/charz (ingest \S+)$", (ROOT / "README.md").read_text(), re.MULTILINE)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("CHARZ_", "PYTHON"))}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(python), *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )

    assert Path(run("-c", "import charz; print(charz.__file__)").stdout.strip()).is_relative_to(home)
    done = run("-m", "charz", *command.split())
    assert done.returncode == 0, done.stderr
    assert "kpu_t256" in done.stdout and "peak memory" in done.stdout


@pytest.mark.slow
def test_the_wheel_holds_exactly_the_package(wheel: Path) -> None:
    copy = wheel.parent.parent
    assert wheel.name.startswith("charz_dnn-")
    in_wheel = {n for n in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in n}
    suffixes = {".py", ".sql", ".yaml", ".csv"}
    wanted = {
        f"charz/{p.relative_to(copy).as_posix()}"
        for package in PACKAGES
        for p in (copy / package).rglob("*")
        if p.suffix in suffixes
    }
    own = {
        f"charz/{p.relative_to(copy / 'src/charz').as_posix()}"
        for p in (copy / "src/charz/session").rglob("*")
        if p.suffix in {".py", ".css", ".js"}
    }
    assert in_wheel == wanted | own | {f"charz/{name}" for name in MODULES if "." in name}


def test_every_import_is_declared() -> None:
    known = project()["project"]
    assert isinstance(known, dict)
    extras = known["optional-dependencies"]
    declared = [
        *known["dependencies"],
        *extras["zoo"],
        *extras["mcp"],
        *extras["cuda"],
        *extras["onnx"],
        *extras["spark"],
    ]
    names = {re.split(r"[><=~\[ ]", d)[0].lower() for d in declared} | {
        "yaml",
        "pynvml",
        "charz",
        "vl_convert",
        "mcp_types",
        "anyio",
        "pyspark",
        "grpc",
    }
    foreign: dict[str, str] = {}
    for package in (*PACKAGES, "src/charz/session"):
        for path in (ROOT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                modules = [a.name for a in node.names] if isinstance(node, ast.Import) else []
                if isinstance(node, ast.ImportFrom) and node.level == 0:
                    modules = [str(node.module)]
                for module in modules:
                    top = module.partition(".")[0]
                    if top not in sys.stdlib_module_names and top.lower() not in names:
                        foreign[top] = str(path.relative_to(ROOT))
    assert foreign == {}


def test_only_ingest_imports_torch() -> None:
    for package in ("cli", "hardware_catalog", "schema", "sql", "src/charz/session"):
        for path in (ROOT / package).rglob("*.py"):
            tree = ast.parse(path.read_text())
            top = [n for n in tree.body if isinstance(n, ast.Import | ast.ImportFrom)]
            names = [a.name for n in top if isinstance(n, ast.Import) for a in n.names]
            names += [str(n.module) for n in top if isinstance(n, ast.ImportFrom)]
            assert not [n for n in names if n.partition(".")[0] in ("torch", "torchvision")], path


def test_no_query_of_more_than_a_line_stands_outside_sql() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for package in ("cli", "src/charz/session")
        for path in (ROOT / package).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and re.match(r"\s*(SELECT|WITH)\s", node.value)
        and ("\n" in node.value.strip() or len(node.value) > 120)
    ]
    assert found == []


def test_constraints_pin_the_tested_torch() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert {"torch==2.13.0", "torchvision==0.28.0"} <= set(lines)


def test_nobody_is_told_to_install_the_other_charz() -> None:
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        assert not re.search(r"pip install (-\S+ )*charz\b(?!-)", path.read_text()), path


def test_ci_runs_the_command_of_the_readme() -> None:
    commands = re.findall(r"^python3 -m venv .*/pytest$", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert len(commands) == 1


@pytest.mark.slow("builds every page, as `charz.cli.reference --check` does")
def test_reference_pages_are_current() -> None:
    assert reference.stale() == [], "run `python -m charz.cli.reference`"


def pages() -> list[Path]:
    return [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]


def test_every_link_of_a_page_reaches_a_file() -> None:
    links = [(page, link) for page in pages() for link in re.findall(r"\]\(([^)#:\s]+)[^):\s]*\)", page.read_text())]
    assert len(links) > 50
    assert [f"{page.relative_to(ROOT)}: {link}" for page, link in links if not (page.parent / link).exists()] == []


def test_every_benchmark_is_named_where_somebody_would_look() -> None:
    folders = ("benchmarks", "docs", "hardware_catalog", "tests")
    files = [p for name in folders for p in (ROOT / name).rglob("*") if p.suffix in (".py", ".md", ".csv")]
    texts = {path: path.read_text() for path in [*files, ROOT / "CONTRIBUTING.md"]}
    unnamed = []
    for benchmark in (ROOT / "benchmarks").glob("[a-z]*.py"):
        name = re.compile(
            rf"benchmarks[./]{benchmark.stem}\b|^from (\.|benchmarks) import .*\b{benchmark.stem}\b", re.MULTILINE
        )
        if not any(name.search(text) for path, text in texts.items() if path != benchmark):
            unnamed.append(benchmark.name)
    assert unnamed == []


LACKS_A_PACKAGE = "def test_x():\n    pytest.importorskip('no_such_package')"


@pytest.mark.parametrize(
    ("ci", "bodies"),
    [
        (
            "true",
            {
                "failed": LACKS_A_PACKAGE,
                "error": "pytest.importorskip('no_such_package')\ndef test_x():\n    pass",
                "skipped": "@pytest.mark.skipif(True, reason='needs /dev/full')\ndef test_x():\n    pass",
                "xfailed": "@pytest.mark.xfail\ndef test_x():\n    assert 0",
            },
        ),
        ("", {"skipped": LACKS_A_PACKAGE}),
    ],
)
def test_a_skipped_test_fails_where_nothing_may_be_missing(tmp_path: Path, ci: str, bodies: dict[str, str]) -> None:
    """The files have one test for each outcome."""
    for outcome, body in bodies.items():
        (tmp_path / f"test_{outcome}.py").write_text(f"import pytest\n{body}\n")
    for name in ("conftest.py", "cost.py", "stages.py"):
        shutil.copy(ROOT / "tests" / name, tmp_path)
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "--import-mode=importlib", "--continue-on-collection-errors", "-rA"]
    done = subprocess.run(
        [*command, "--rootdir", str(tmp_path), str(tmp_path)],
        capture_output=True, text=True, check=False, cwd=tmp_path, env={**os.environ, "CI": ci},
    )  # fmt: skip
    counts = done.stdout.splitlines()[-1]
    assert all(f"1 {outcome}" in counts for outcome in bodies), done.stdout
    assert sum(map(int, re.findall(r"(\d+) [a-z]+", counts.partition(" in ")[0]))) == len(bodies), counts


def test_the_accuracy_that_the_readme_states_is_that_of_the_pages() -> None:
    """Each row's counts and shares are in one row of its page, with the words before the colon."""
    row = re.compile(
        r"^\| ([^|]+) \| \[[^\]]+\]\((docs/[\w-]+\.md)\) \| (\d+) \| (0\.\d+) \| (0\.\d+) \|$", re.MULTILINE
    )
    stated = row.findall((ROOT / "README.md").read_text())
    assert len(stated) >= 6
    for said, page, rows, median, within in stated:
        keys = [key.strip() for key in said.partition(":")[0].removeprefix("energy of ").split(",")]
        lines = [
            [cell.strip() for cell in text.strip("|").split("|")] for text in (ROOT / page).read_text().splitlines()
        ]
        found = [cells for cells in lines if set(keys) <= set(cells)]
        assert any({rows, median, within} <= set(cells) for cells in found), said
    assert min(float(within) for *_, within in stated) < 0.5, "the worst rows are among them"


def test_the_picture_of_the_readme_is_there() -> None:
    (picture,) = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", (ROOT / "README.md").read_text())
    assert (ROOT / picture).read_bytes().startswith(b"\x89PNG") and (ROOT / picture).stat().st_size < 300_000
