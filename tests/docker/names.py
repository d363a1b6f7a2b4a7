"""Other images' names for ours, so that a program that starts those starts ours with nothing else changed."""

from collections.abc import Iterator
from contextlib import contextmanager

from .container import Image


@contextmanager
def named(image: Image, *names: str) -> Iterator[None]:
    """Gives the image more names until the block ends. Images that had them before get them back."""
    engine = image.engine
    before = {name: engine.attempt("image", "inspect", "--format", "{{.Id}}", name) for name in names}
    for name in names:
        engine.run("tag", image.tag, name)
    try:
        yield
    finally:
        for name, inspected in before.items():
            if inspected.returncode == 0:
                engine.run("tag", inspected.stdout.strip(), name)
            else:
                engine.run("image", "rm", "--force", "--no-prune", name)
