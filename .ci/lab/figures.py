#!/usr/bin/env python3
"""Writes figures 3 to 7 of two reports side by side, as one SVG.

    figures.py LEFT RIGHT      folders of henro stats --timetable
"""
import pathlib, re, sys

WIDTH = 480
folders = [pathlib.Path(folder) for folder in sys.argv[1:3]]
drawn, y = [], 0
for figure in sorted(f.name for f in folders[0].glob("figure-*.svg")):
    for column, folder in enumerate(folders):
        svg = (folder / figure).read_text()
        width, height = map(float, re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg).groups())
        high = WIDTH * height / width
        head = '<svg x="%d" y="%g" width="%d" height="%g" viewBox="0 0 %g %g"' % (column * WIDTH, y, WIDTH, high, width, height)
        kept = re.findall(r' ((?:font|fill|stroke|style|class)[\w-]*="[^"]*")', re.search(r"<svg[^>]*>", svg).group())
        drawn.append(re.sub(r"(?s)^.*?<svg[^>]*>", " ".join([head] + kept) + ">", svg, count=1))
    y += high
print('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %g">%s</svg>' % (2 * WIDTH, y, "".join(drawn)))
