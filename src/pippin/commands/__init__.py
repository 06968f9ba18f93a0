"""What a user asks for: the only rooms that know all the others."""
