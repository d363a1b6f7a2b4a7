"""Record batches into Arrow: scan of the headers, walk over the records, assembly of the columns."""
