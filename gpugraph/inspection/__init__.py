"""Views of a run: statistics, timelines, browser traces, HTML pages."""
