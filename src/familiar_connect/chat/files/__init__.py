"""What chat files have in common, whoever wrote them: lines, JSON objects in lines, dates."""
