"""How a batch is spread over machines: one after the other here, or as tasks of a Ray cluster."""
