"""Document readers (PDF, DOCX, HTML, …); each returns the elements of a document in reading order."""
