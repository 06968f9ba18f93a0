"""Loading models and tokenizers: from the Hub, its cache, a local folder or the built-in package."""
