"""`pippin exec`: somebody's own script, unmodified, with Pippin's classes in place of transformers'.

`runner.py` runs the file as Python would. `after_import.py` lets the other modules act when a library is first
imported: `replacements.py` (classes), `old_names.py` (what libraries dropped),
`metric_loading.py` and `glue.py` (what scripts fetch from the Hub, without the Hub). `workers.py` takes them to
processes that the script spawns.
"""
