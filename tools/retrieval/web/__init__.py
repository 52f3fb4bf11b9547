"""Web search as a retriever: Google, Wikipedia, and the searches of langchain-community."""
