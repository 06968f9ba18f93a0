"""What the user asked for: fields, flags, files; all mistakes reported at once. Knows no devices."""

from pippin.recipe.recipe import Recipe

__all__ = ["Recipe"]
