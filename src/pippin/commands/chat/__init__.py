"""Talking with a language model: what a chat is, the loop on a terminal, and answers to many prompts."""
