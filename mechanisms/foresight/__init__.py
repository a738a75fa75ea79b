"""What to expect of a mechanism before any row is read: one module for each, with its `foresee`."""
