"""Checkpoints as transactions: whole, verified, or not there. Safetensors and JSON only."""
