"""What a release is made of: ``make release-check`` and the workflow that a tag starts."""
