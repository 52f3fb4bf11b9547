"""Reading documents (PDF, DOCX, HTML, …): the elements of each, in order."""
