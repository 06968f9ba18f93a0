"""What this computer can do: the probe, the Machine as data, and one backend per device."""
