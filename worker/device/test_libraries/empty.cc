// No library of devices: it has no entry.
