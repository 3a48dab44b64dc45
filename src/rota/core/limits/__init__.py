"""What holds a job back although there is room for it: limits of associations and QOS, licences."""
