"""What a resumed run may change: every choice of the plan falls under a rule."""

from __future__ import annotations

from dataclasses import fields

from pippin.plan.plan import Plan
from pippin.recipe.fields import recipe_fields
from pippin.training import resume


def test_every_choice_has_a_rule():
    rules = [set(resume._FIXED), set(resume._APPLIED), resume._FREE]
    assert sum(map(len, rules)) == len(set.union(*rules)), "one rule for each"
    assert set.union(*rules) == {item.name for item in fields(Plan)}


def test_settings_named_in_the_rules_exist():
    assert {*resume._FIXED_SETTINGS, *resume._APPLIED_SETTINGS} <= recipe_fields().keys()
