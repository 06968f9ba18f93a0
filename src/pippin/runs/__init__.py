"""The record of a run: its folder, run.json, events, and how an unfinished one goes on."""
