"""What jobs ask for, worked out in the terms of one machine."""
