"""Commands about this machine: what it has, what it lacks, and the link alone."""
