"""What shows a run: statistics, timelines, traces for browsers, pages of HTML."""
