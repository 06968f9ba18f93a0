"""This process's part of a job: all of it, or what the first of several processes hands out."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from pippin.commands.failures.explained import explained, write_here
from pippin.commands.sharing import Lead, check_alike, follow, member_here, threads_for
from pippin.commands.train import run_job
from pippin.engine.group import FailedProcess, Group, LostProcess, joined
from pippin.errors import PippinError
from pippin.machine.drivers import get_backend
from pippin.machine.launch import Place
from pippin.machine.probe import probe
from pippin.recipe import Recipe
from pippin.report.report import Report
from pippin.report.terminal import Terminal


def take_part(recipe: Recipe, terminal: Terminal, place: Place) -> Report | None:
    """The whole job, or this process's part where there are several; returns the Report, None where another has failed.

    Only the first process prints, but for what goes wrong in another alone.
    """
    if place.restarts:  # the launcher starts all again when one was lost
        recipe = replace(recipe, resume=True)
    with threads_for(recipe, place), joined(place) as group:
        if group.size == 1:
            return run_job(recipe, terminal)
        member = member_here(recipe, probe(), place)
        members = group.gather(member)
        check_alike(members, recipe.reduce != "fast")
        if group.is_first:
            return _lead(recipe, terminal, Lead(group, members))
        return _follow(group, member.device)


def _lead(recipe: Recipe, terminal: Terminal, lead: Lead) -> Report:
    """The job, and what came out of it for all."""
    try:
        report = run_job(recipe, terminal, lead)
    except LostProcess:
        raise
    except BaseException:
        if lead.waits:  # nothing was begun: the others are sent home, and what is wrong is said once
            with suppress(LostProcess):
                lead.give(None)
                lead.group.share(None)
        else:  # they are in the middle of it
            lead.group.give_up()
        raise
    lead.give(None)
    lead.group.share(report)
    return report


def _follow(group: Group, device: str) -> Report | None:
    try:
        with explained(get_backend(device), probe, write_here):
            follow(group, device)
        return group.share(None)
    except LostProcess:
        raise
    except PippinError as error:
        group.give_up()
        raise FailedProcess(f"{group.name}: {error}") from error
