"""Makes the blocks of a study: executors behind one protocol, and the sessions in which they make
visits."""
