"""Decodes record batches into Arrow: scans the headers, walks over the records, builds the columns."""
