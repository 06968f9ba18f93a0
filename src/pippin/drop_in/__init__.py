"""Hugging Face's Trainer on Pippin's engine, for scripts that people already have.

`trainer.py` holds the classes, `packed_forward.py` what makes them fast, `checkpoints.py` and `safekeeping.py` what
keeps work from being lost, `arguments.py` and `fields.py` the settings, `script/` what `pippin exec` does.
"""
