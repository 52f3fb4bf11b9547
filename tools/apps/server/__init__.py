"""The web app: a chat page, and endpoints for the protocols that other chat apps speak.

`service` holds what every endpoint shares: the chat graph with its threads, the settings it was started with, and
the limit of concurrent turns. Each endpoint is a module or a package next to it: `openai_api`, `ag_ui`, `mcp_server`,
`page`. `web_app` puts them together behind `guards`.
"""
