"""Pictures of pages while they load: filmstrips and races."""
