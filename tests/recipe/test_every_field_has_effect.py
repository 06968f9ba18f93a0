"""Each field of the Recipe is read outside the recipe package, or goes into the plan as it is and is read from there.

That it has an effect is not tested here.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import pippin
from pippin.plan.plan import plan_fields
from pippin.recipe.fields import recipe_fields

SOURCE = Path(pippin.__file__).parent
READERS = "\n".join(
    path.read_text() for path in SOURCE.rglob("*.py") if "recipe" not in path.relative_to(SOURCE).parts[0]
)
# These are read through properties of the Recipe itself.
THROUGH_PROPERTIES = {
    "do_train": "wants_training",
    "do_eval": "wants_evaluation",
    "do_predict": "wants_prediction",
    "data_seed": "order_seed",
    "resume": "wants_resume",
}


@pytest.mark.parametrize("name", sorted(set(recipe_fields()) - {"trust_remote_code"}))
def test_field_is_read(name):
    wanted = THROUGH_PROPERTIES.get(name, name)
    from_plan = wanted in plan_fields() and re.search(rf"plan\.{wanted}\b", READERS)
    assert from_plan or re.search(rf"recipe\.{wanted}\b", READERS), f"{name} is parsed and never used"


def test_trust_remote_code_is_passed_as_false_everywhere():
    assert "trust_remote_code=False" in READERS
    assert "trust_remote_code=True" not in READERS
