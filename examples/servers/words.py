from mcp.server.mcpserver import MCPServer

server = MCPServer("words")


@server.tool()
def count_words(text: str) -> int:
    """Counts the words of a text."""
    return len(text.split())


server.run()
