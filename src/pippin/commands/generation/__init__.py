"""Around transformers' generate: what may be asked of it, text out of its tokens, and what is kept of a chat."""
