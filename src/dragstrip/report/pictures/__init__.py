"""Makes pictures of pages while they load: filmstrips and races."""
