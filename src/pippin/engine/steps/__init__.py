"""Optimiser steps: eager, captured, compiled, or updated in the backward pass."""
