"""The chat page: Gradio Blocks over the service, mounted at `/chat`."""
