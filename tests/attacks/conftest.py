"""A browser and an office to visit with it, for the attacks of other sites."""

from browser_fixtures import browser, enter, office

__all__ = ["browser", "enter", "office"]
