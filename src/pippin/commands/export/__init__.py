"""A trained language model for other programs: written, loaded again by their own readers, and compared."""
