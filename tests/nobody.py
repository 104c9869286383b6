"""The ordinary user that tests become."""

NOBODY = 65534
# `env` starts the program, so that not even its file is opened with root's rights.
AS_NOBODY = f"setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups env".split()
