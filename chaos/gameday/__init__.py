"""Game days: a room, a plan of drills on one living stack, and one report of the day.

plan.py      what is going to be done, read from YAML         day.py    what was done: the day's record
talk.py      asking and listening in a terminal               view.py   the picture, with keys beneath it
host.py      leads through the day                            page.py   the day's report
"""
