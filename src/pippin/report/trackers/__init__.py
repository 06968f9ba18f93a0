"""Figures of a run for the tools that people already watch their runs with: one file per tool."""
