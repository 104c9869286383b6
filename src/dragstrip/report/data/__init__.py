"""What a report says, as plain rows and records: no HTML, no drawing."""
