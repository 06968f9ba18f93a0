"""One class or one number for a text."""
