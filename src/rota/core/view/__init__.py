"""What others see of the engine: lines that are copies, and answers that change nothing."""
