"""Views of a run: statistics, timelines, traces for browsers, HTML pages."""
