"""The documentation as a site: ``make site`` makes it from the Markdown of the repository and from the code.

``build`` copies the pages to ``build/pages`` and runs MkDocs; ``markdown_of_mkdocs`` changes what MkDocs reads in
another way than GitHub; ``command_pages`` and ``key_pages`` make the pages of the reference.
"""
