"""What all drivers share: making an engine with its plugins (`boot`), and handing out its effects (`dispatch`)."""
