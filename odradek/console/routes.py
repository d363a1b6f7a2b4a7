"""The one table of what the page may ask for. The server walks it; a test does, too."""

from .route import ViewRoute

ROUTES: tuple[ViewRoute, ...] = ()
"""Every path under ``/api/`` but that of the login."""
