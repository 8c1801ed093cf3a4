"""Tests that are too expensive for their stage, and the stages that they move to.

    CHARZ_TEST_COSTS=/tmp/costs.tsv .venv/bin/pytest -m 'not anew'    # or the default stage alone
    python -m tests.stages /tmp/costs.tsv 0.32 [/tmp/more.tsv 0.26 ...]    # U of that machine in seconds (a run's summary prints it)

A test function above `DEFAULT_U`, over all its cases, leaves the default stage for the full stage. Above `FULL_U` the full stage
keeps its cheapest case, if that costs no more, and the broad stage runs the others. `expensive.csv` lists these functions.
"""

from __future__ import annotations

import csv
import functools
import sys
from collections import defaultdict
from pathlib import Path

DEFAULT_U = 8.0
FULL_U = 15.0
KEPT_IN_DEFAULT = {
    "tests/cli/test_options.py::test_a_command_prints_what_its_method_returns": "runs every command once",
    "tests/report/test_golden.py::test_rows_are_those_of_the_golden_table": "compares answers with the golden table",
    "tests/session/test_models.py::test_ingest_makes_the_file_and_answers_about_what_it_brought_in": "ingests a model from its name",
    "tests/sql/test_triggers.py::test_a_scenario_is_there_as_soon_as_its_row": "writes a fact from a plain client",
}
"""Expensive tests that stay in the default stage, each with the reason."""
KEPT_IN_FULL = {
    **KEPT_IN_DEFAULT,
    "tests/answers/test_answers.py::test_every_relation_at_hand_is_the_live_one": "compares all stored answers with live ones",
    "tests/session/test_llm_choice.py::test_a_stated_rent_replaces_that_of_the_file": "asks the serving choice under a user's prices",
    "tests/session/test_messages.py::test_standard_runs_of_served_models_are_left_to_refresh": "ingests a language model and another model",
    "tests/session/test_planted.py::test_a_macro_of_a_functions_name_refuses_the_file_for_readers_too": "opens files with planted macros",
    "tests/session/test_totals.py::test_levels_sum_to_the_run_and_classes_to_all": "checks conservation on four parts",
    "tests/mechanism/test_chosen_nest.py::test_the_tile_that_is_counted_is_the_nest_that_is_shown": "compares each dataflow's tile with its loop nest",
    "tests/session/test_answer_page.py::test_pages_of_commands": "writes the page of each command",
    "tests/session/test_llm_choice.py::test_a_server_that_no_node_keeps_runs_on_several": "chooses several servers",
    "tests/session/test_llm_choice.py::test_the_smallest_node": "chooses the smallest node",
    "tests/session/test_mcp.py::test_a_what_if_answers_as_the_method_and_writes_files_only_on_request": "answers a what-if by the protocol",
    "tests/session/test_queue.py::test_beside_a_simulation": "compares the queue with simulations",
    "tests/session/test_serve.py::test_splits_are_compared_and_started": "compares splits of a server",
    "tests/session/test_template.py::test_one_that_charz_did_not_write_is_made_anew_and_named": "makes an altered template anew",
    "tests/sql/test_triggers.py::test_a_scenario_that_no_run_can_have_is_refused": "refuses each impossible scenario of a plain client",
    "tests/portability/test_sail.py::test_sail_answers_as_duckdb_does": "compares Sail with DuckDB",
    "tests/schema/test_file.py::test_nothing_is_lost_between_charz_and_plain_clients": "kills writers",
    "tests/metamorphic/test_together.py::test_asked_together_and_alone": "compares each command's rows with those asked alone",
    "tests/metamorphic/test_quantities.py::test_commands_agree": "compares one quantity across commands",
    "tests/metamorphic/test_together.py::test_live_and_at_hand": "compares stored with live answers of commands",
}
"""Expensive tests that stay in the full stage, each with the reason."""
LISTED = Path(__file__).parent / "expensive.csv"


def leaves(function: str, case: str, is_default: bool) -> str | None:
    """Return the stage that a test moves to: `slow` for the full stage, `broad`, or None if it stays."""
    found = listed().get(function)
    if found is None:
        return None
    u, kept = found
    if u > FULL_U and function not in KEPT_IN_FULL and case != kept:
        return "broad"
    return "slow" if is_default and u > DEFAULT_U and function not in KEPT_IN_DEFAULT else None


@functools.cache
def listed() -> dict[str, tuple[float, str | None]]:
    """Return the cost in U of each expensive test function, and its case that the full stage keeps."""
    with LISTED.open(newline="") as rows:
        return {row["test"]: (float(row["u"]), row["kept"] or None) for row in csv.DictReader(rows)}


def main(*given: str) -> None:
    """Write `expensive.csv` from files of CPU seconds of each phase of each test, each followed by its U in seconds. A function keeps its row if
    fewer of its cases are in the files, and without a row its setup does not count, which may be that of other tests."""
    with LISTED.open(newline="") as rows:
        table = {row["test"]: row for row in csv.DictReader(rows)}
    cases: defaultdict[str, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
    for costs, unit_s in zip(given[::2], given[1::2], strict=True):
        for line in Path(costs).read_text().splitlines():
            spent, phase, node = line.split("\t")
            function, _, case = node.partition("[")
            if phase == "call" or function in table:
                cases[function][case and f"[{case}"] += float(spent) / float(unit_s)
    for function, found in cases.items():
        if len(found) < int(table.get(function, {"cases": "0"})["cases"]):
            continue
        table.pop(function, None)
        if (total := sum(found.values())) > DEFAULT_U:
            case = min(found, key=lambda name: found[name])
            is_kept = found[case] <= FULL_U and len(found) > 1
            table[function] = {
                "test": function,
                "cases": str(len(found)),
                "u": f"{total:.1f}",
                "kept": case if is_kept else "",
            }
    with LISTED.open("w", newline="") as rows:
        writer = csv.DictWriter(rows, ["test", "cases", "u", "kept"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(table[function] for function in sorted(table))


if __name__ == "__main__":
    main(*sys.argv[1:])
