"""The web app: a chat page, and endpoints that other people's chat apps already speak.

`service` holds what every door of the app shares: the chat graph with its threads, the settings it was started
with, and the limit of turns under way. Each door is a file or a folder beside it: `openai_api`, `ag_ui`,
`mcp_server`, `page`. `app` puts them together behind `guards`.
"""
