"""Who makes the blocks of a study, and how: executors of one protocol, down to the session that
makes each visit."""
