"""Reading documents (PDF, DOCX, HTML, …): the elements of each, in their order."""
