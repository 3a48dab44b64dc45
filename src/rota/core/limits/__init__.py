"""Start limits: what can keep a job from starting although resources are free."""
