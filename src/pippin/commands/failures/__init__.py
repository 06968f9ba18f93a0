"""What happens when work on a device fails: find the failing call, make it small, say where to report it."""
