"""Fixtures of all tests: files that the first worker makes and all share, once for each run."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import sys
import zlib
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    import duckdb

# Examples are the same each time, on machines of any speed; tests marked slow draw others.
settings.register_profile("same", derandomize=True, deadline=None)
settings.load_profile("same")

# Test folders are packages of their own: `oracle` and `whole` are imported by those names.
sys.path.insert(0, str(Path(__file__).parent))
# Another process finds a test's module by its name relative to the repository.
sys.path.append(str(Path(__file__).parents[1]))



def pytest_configure(config: pytest.Config) -> None:
    """Register the report of CPU time."""
    from cost import Cost

    config.pluginmanager.register(Cost(), "charz-cost")


IN_FULL = {
    "answers": "fills answers at hand", "cli": "starts a process for each statement", "hardware_catalog": "makes files of every part",
    "ingest": "traces networks", "metamorphic": "asks each question in several ways",
    "oracle": "evaluates generated networks by two ways", "portability": "starts engines",
    "sandbox": "starts a process for each statement", "truth": "fits and scores measurements", "whole": "evaluates whole files",
    "sql/test_concurrent_writes.py": "evaluates all maintained tables after each pair of writes",
    "sql/test_maintain.py": "evaluates all maintained tables", "sql/test_triggers.py": "evaluates all maintained tables after each write",
    "session/test_assert.py": "evaluates a run for each limit", "session/test_foreign_file.py": "installs all views",
    "session/test_guarded_questions.py": "starts a process for each question", "session/test_ingest_live.py": "traces a network",
    "session/test_ask.py": "asks each question in many ways",
    "session/test_chrome_trace.py": "evaluates whole runs kernel by kernel",
    "session/test_cookbook.py": "runs every block of the pages", "session/test_damaged_and_newer_files.py": "writes and damages whole files",
    "session/test_diff.py": "traces two versions of a network", "session/test_elasticity.py": "evaluates each number of a part twice",
    "session/test_explain.py": "evaluates all terms of a whole run", "session/test_explore.py": "evaluates spaces of parts",
    "session/test_export.py": "writes whole files in every format", "session/test_graph.py": "draws whole networks",
    "session/test_kernel_names.py": "evaluates relations of kernels over a whole file", "session/test_mapping.py": "searches loop nests",
    "session/test_measure.py": "times this machine", "session/test_merge.py": "makes and merges whole files",
    "session/test_mart.py": "exports whole files",
    "session/test_models.py": "traces networks", "session/test_notebook.py": "runs a notebook", "session/test_page.py": "writes whole pages",
    "session/test_paths.py": "adds parts to whole files", "session/test_scenarios_together.py": "writes a whole file from two processes",
    "session/test_plot.py": "draws pictures", "session/test_sample.py": "evaluates many drawn parts",
    "session/test_step.py": "evaluates mixes of a server", "session/test_train.py": "traces a training step",
    "session/test_what_if.py": "evaluates changed parts in two ways", "session/test_workload.py": "evaluates many runs of several models",
}  # fmt: skip
"""Folders and files of the full stage (`.ci/run`) with the reason; their tests marked `default` run in both stages."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests for their stages if the run names no folder or test; a run that names one has no stages."""
    if config.args != config.getini("testpaths"):
        return
    from stages import leaves

    for item in items:
        place = item.path.relative_to(Path(__file__).parent)
        is_default = not (IN_FULL.get(place.parts[0]) or IN_FULL.get(place.as_posix())) or item.get_closest_marker("default") is not None
        if not is_default:
            item.add_marker(pytest.mark.slow)
        function, _, case = item.nodeid.partition("[")
        if stage := leaves(function, case and f"[{case}", is_default):
            item.add_marker(stage)


OF_THE_MACHINE = (
    "only root gives files away",
    "root writes in any folder",
    "this system has no landlock",
    "needs /dev/full",
    "the hardware facts are not beside the repository",
    "../shared/measurements is not here",
)
"""Reasons for which a test may be skipped in `CI`, where all dependencies are installed: the user, the system, data of others that
no repository may contain."""


def _must_run(report: pytest.TestReport | pytest.CollectReport) -> bool:
    """Return True for a test that is skipped in CI without one of these reasons."""
    is_skipped = report.outcome == "skipped" and not hasattr(report, "wasxfail") and os.environ.get("CI") == "true"
    return is_skipped and not any(reason in str(report.longrepr) for reason in OF_THE_MACHINE)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: Any) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail a test in CI that is skipped because something is missing."""
    report = yield
    if _must_run(report):
        report.outcome, report.longrepr = "failed", f"skipped in CI: {report.longrepr}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Fail a file of tests in CI that is skipped because something is missing."""
    report = yield
    if _must_run(report):
        report.outcome, report.longrepr = "failed", f"skipped in CI: {report.longrepr}"
    return report


Once = Callable[[str, Callable[[Path], object]], Path]


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory) -> Once:
    """`once("resnet18.duckdb", make)`: the file of that name in a folder that all workers of a run share; the first to
    need it calls `make` with its path, the others wait. Tests only read it, or copy it first."""
    base = tmp_path_factory.getbasetemp()
    # The folder of each worker is inside that of the run.
    shared = (base.parent if base.name.startswith("popen-") else base) / "shared"
    shared.mkdir(exist_ok=True)

    def file(name: str, make: Callable[[Path], object]) -> Path:
        path, done = shared / name, shared / f"{name}.done"
        with (shared / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not done.exists():
                make(path)
                done.touch()
        return path

    return file


PARTS = (
    "t4", "a10", "l4", "l40", "l40s", "rtx3090", "rtx4090", "h100_sxm5_80", "i7_13700k", "i9_10940x", "kpu_t64", "kpu_t256", "tpu_v4",
    "tpu_v1", "gaudi3", "groq_lpu_v1", "epyc_9654", "a100_pcie_40",
)  # fmt: skip
"""Parts of most families, some of them siblings. Few parts are enough, because the time of a change of the file grows with their
number."""
WITH_FEW_PARTS = ("answers", "cli", "ingest", "metamorphic", "schema", "session")
"""Folders whose tests make new files with only these parts, except modules and tests marked `whole_catalog`."""


@contextlib.contextmanager
def cache(folder: Path) -> Iterator[None]:
    """Use this folder as the cache of charz and of the processes that it starts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        yield


@pytest.fixture(scope="session")
def users_cache() -> Path:
    """Cache that charz uses outside of tests, where a new file has every part."""
    from charz.schema import cache

    return cache.folder().parent


@pytest.fixture(scope="session")
def small_cache(once: Once, users_cache: Path) -> Path:
    """A cache in which a new file has some parts of the catalog, as if its user had removed the others."""
    from charz.session import template

    folder = users_cache / f"charz-tests-{zlib.crc32(repr(PARTS).encode()):08x}"

    def make(_: Path) -> None:
        with cache(folder):
            assert template.ready(_of_some_parts), f"cannot write in {folder}"

    once("small_cache", make)
    return folder


def _of_some_parts(connection: duckdb.DuckDBPyConnection) -> None:
    from charz.hardware_catalog import loader, sync
    from charz.schema import database
    from charz.session import workspace

    catalog = loader.load()
    for row_type, rows in catalog.rows.items():
        kept = [row for row in rows if getattr(row, "hardware", PARTS[0]) in PARTS]
        database.insert(connection, row_type, loader.columns_of(row_type, kept))
    sync.remember(connection, catalog)
    workspace._complete(connection)


@pytest.fixture(scope="module", autouse=True)
def _few_parts_in_new_files(request: pytest.FixtureRequest) -> Iterator[None]:
    """The small cache, for folders of `WITH_FEW_PARTS`."""
    folder = request.path.relative_to(Path(__file__).parent).parts[0]
    if folder in WITH_FEW_PARTS and not request.node.get_closest_marker("whole_catalog"):
        with cache(request.getfixturevalue("small_cache")):
            yield
    else:
        yield


@pytest.fixture
def whole_catalog(users_cache: Path) -> Iterator[None]:
    """A cache in which new files have every part of the catalog; the marker of this name does the same for a module."""
    with cache(users_cache):
        yield


@pytest.fixture(scope="session")
def few_parts(once: Once, small_cache: Path) -> Path:
    """Database of some parts without models; tests only read it, or copy it first."""
    from charz.session import template

    def make(path: Path) -> None:
        with cache(small_cache):
            shutil.copy(template.ready(_of_some_parts), path)  # type: ignore[arg-type]  # it is there
        path.chmod(0o600)

    return once("few_parts.duckdb", make)


@pytest.fixture(scope="session")
def file(once: Once, few_parts: Path, small_cache: Path) -> Path:
    """Database of some parts with three generated models, one of which decodes; tests only read it."""

    def make(path: Path) -> None:
        with cache(small_cache):
            _three_models(shutil.copy(few_parts, path))

    return once("small.duckdb", make)


@pytest.fixture(scope="session")
def every_part(once: Once, users_cache: Path) -> Path:
    """The same database with every part of the catalog, without answers at hand."""

    def make(path: Path) -> None:
        with cache(users_cache):
            _three_models(path, fills=False)

    return once("every_part.duckdb", make)


def _three_models(path: Path, fills: bool = True) -> None:
    from oracle.database import ingested
    from whole.generated import graph

    from charz.ingest import write
    from charz.session import Session
    from charz.sql import maintain

    with Session(path) as session, session.changing(fills=fills) as connection:
        models = [ingested(graph(seed), name) for seed, name in enumerate(("small", "other", "decoder"), start=1)]
        models[-1].model["has_context"] = True
        write.write(connection, models, maintain.add_runs)


@pytest.fixture(scope="session")
def resnet18(once: Once, few_parts: Path, small_cache: Path) -> Path:
    """Database made by `charz ingest resnet18` from stored facts; tests only read it."""

    def make(path: Path) -> None:
        import model_facts

        from charz.ingest import write
        from charz.session import Session
        from charz.sql import maintain

        shutil.copy(few_parts, path)
        with cache(small_cache), Session(path) as session, session.changing(fills=False) as connection:
            write.write(connection, [model_facts.kept("resnet18")], maintain.add_models)

    return once("resnet18.duckdb", make)
