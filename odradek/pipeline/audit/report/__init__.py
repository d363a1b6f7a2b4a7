"""The report of an audit: tables, one page of HTML, a summary for the terminal."""
