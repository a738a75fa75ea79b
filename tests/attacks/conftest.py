"""A browser and an office to visit with it, for the attacks of other sites."""

from tests.support.browser_fixtures import browser, enter, office

__all__ = ["browser", "enter", "office"]
