"""A plain BERT classifier of our own, for models in a local folder: transformers takes seconds to import.

It reads and writes the same files and gives the same numbers. Whatever is not plainly BERT is left to transformers.
"""
