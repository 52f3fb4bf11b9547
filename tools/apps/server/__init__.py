"""The web app: a chat page, and endpoints for the protocols of other chat apps.

Each endpoint is a module or a package: `openai_api`, `ag_ui`, `mcp_server`, `page`. They share `service`, and `web_app`
combines them behind `guards`.
"""
