"""What a resumed run may change: every choice of the plan and every setting falls under one rule."""

from __future__ import annotations

from dataclasses import fields

from pippin.plan.plan import Plan
from pippin.recipe.fields import recipe_fields
from pippin.runs import rules


def test_every_choice_has_a_rule():
    assert rules.CHOICES.keys() == {item.name for item in fields(Plan)}


def test_every_setting_has_one_rule():
    groups = [rules._FIXED, rules._APPLIED, rules._DIGITS, rules._PLANNED, rules._FREE]
    assert sum(map(len, groups)) == len(rules.SETTINGS), "one rule for each"
    assert rules.SETTINGS.keys() == recipe_fields().keys()
