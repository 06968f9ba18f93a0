"""Does the device give the CPU's results? The user's own model and rows, on both, side by side."""
