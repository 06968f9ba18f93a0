"""Every automatic choice, as (value, reason)."""
