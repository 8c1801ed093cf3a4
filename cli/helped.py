"""Help of a command: `--help` shows its common options, `--help-all` every option."""

from __future__ import annotations

import copy
from typing import Any

import typer
from typer.core import TyperCommand

from charz.session.method import Method


class Command(TyperCommand):
    """A command with a short and a whole help."""

    common: tuple[str, ...] = ()
    """Names of the parameters in the short help, in its order; empty for all."""
    shared: tuple[str, ...] = ()
    """Flags that every command has, which only the whole help lists."""
    is_whole = False

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, with `--help-all` before `--help`."""
        *own, last = super().get_params(ctx)
        whole: Any = copy.copy(last)
        whole.name, whole.opts, whole.help, whole.callback = "help_all", ["--help-all"], "Show every option and exit.", self._show_all
        return [*own, whole, last]

    def _show_all(self, ctx: Any, _: Any, value: bool) -> None:
        if value and not ctx.resilient_parsing:
            self.is_whole = True
            typer.echo(ctx.get_help(), color=ctx.color)
            ctx.exit()

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """Write the first paragraph of the text, or the whole text."""
        text = self.help
        if not self.is_whole and self.help:
            self.help = self.help.partition("\n\n")[0]
        super().format_help_text(ctx, formatter)
        self.help = text

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments and the common options, or all options."""
        found = self.get_params(ctx)
        arguments = [p for p in found if p.param_type_name == "argument"]
        first, further = self._divided(found)
        every = [p for p in found if p.param_type_name == "option" and p.hidden]
        blocks = [("Arguments", arguments), ("Options", first)]
        if self.is_whole:
            blocks += [("Further options", further), ("Options of every command", every)]
        for title, members in blocks:
            if records := [record for p in members if (record := _shown(p).get_help_record(ctx))]:
                with formatter.section(title):
                    formatter.write_dl(records)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write what the short help leaves out."""
        if self.is_whole:
            return
        further = len(self._divided(self.get_params(ctx))[1])
        more = f"{further} further option{'s' if further > 1 else ''} and " if further else ""
        formatter.write_paragraph()
        formatter.write_text(f"`--help-all` shows {more}the options of every command: {', '.join(self.shared)}.")

    def _divided(self, found: list[Any]) -> tuple[list[Any], list[Any]]:
        """Divide the options of the command into those of the short help and all others."""
        own = [p for p in found if p.param_type_name == "option" and not p.hidden]
        helps = [p for p in own if p.name in ("help", "help_all")]
        own = [p for p in own if p not in helps]
        if not self.common:
            return [*own, *helps], []
        first = sorted((p for p in own if p.name in self.common), key=lambda p: self.common.index(p.name))
        return [*first, *helps], [p for p in own if p not in first]


def _shown(parameter: Any) -> Any:
    """Return a copy of a parameter that help does not hide."""
    shown = copy.copy(parameter)
    shown.hidden = False
    return shown


def command(method: Method, shared: tuple[str, ...]) -> type[Command]:
    """Make the class of a method's command."""
    return type("Command", (Command,), {"common": method.asked.common, "shared": shared})
