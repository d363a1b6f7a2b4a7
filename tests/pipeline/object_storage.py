"""Copies directories to storage that only fsspec can read."""

from pathlib import Path

import fsspec


def upload(directory: Path, url: str) -> None:
    """Copies every file of a directory to the URL."""
    store, path = fsspec.url_to_fs(url)
    for file in directory.rglob("*"):
        if file.is_file():
            name = f"{path}/{file.relative_to(directory)}"
            store.makedirs(name.rpartition("/")[0], exist_ok=True)
            store.pipe_file(name, file.read_bytes())
