"""Job steps of a live cluster: which nodes and processors they have, and what their tasks are told."""
