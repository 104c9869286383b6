"""Pages and sites that were saved as files: HTML with its folder, MHTML, mirrors."""
