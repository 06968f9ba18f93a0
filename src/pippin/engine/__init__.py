"""Doing it: the loop, the step, optimiser and schedule, evaluation, copies of the model, events."""
