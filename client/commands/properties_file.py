"""Java's properties files, without escapes and continued lines. Pure."""


def read_properties(text: str) -> dict[str, str]:
    """The keys and values: ``key=value``, ``key: value`` or ``key value``; ``#`` and ``!`` begin comments."""
    pairs: dict[str, str] = {}
    for line in text.replace("\\\n", "").splitlines():
        stripped = line.strip()
        if not stripped or stripped[0] in "#!":
            continue
        end = next((i for i, character in enumerate(stripped) if character in "=: \t"), len(stripped))
        value = stripped[end:].lstrip()
        pairs[stripped[:end]] = value[1:].lstrip() if value[:1] in ("=", ":") else value
    return pairs
