"""Documents as people have them: plain text, Markdown, web pages, PDFs."""
