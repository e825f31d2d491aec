"""The table, the JSON and the plots."""

import json
import os
import shutil
import subprocess


def figure(value):
    if value is None:
        return '–'
    for limit, digits in ((10, 2), (100, 1)):
        if abs(value) < limit:
            return f'{value:,.{digits}f}'
    return f'{value:,.0f}'


def row(line):
    def of(am):
        side = line.sides.get(am)
        return f'{figure(side.median)} {line.unit}' if side else '–'
    other = of(line.other)
    if line.other and line.other != 'btree':
        other += f' ({line.other})'
    if line.failure:
        reached = 'FAILED'
    else:
        reached = {None: '', True: 'yes', False: 'no'}[line.reached]
    return (line.title, other, of(line.own), share(line.ratio), str(line.target) if line.target else '',
            reached, f'{line.spread:.0%}', share(line.processor_ratio))


def share(ratio):
    return '–' if ratio is None else f'{ratio:.3f}' if ratio < 0.1 else f'{ratio:.2f}'


def table(lines, own):
    """Returns the table as Markdown, so that it can be quoted as it is."""
    best = 'btree' if all(line.other in (None, 'btree') for line in lines) else 'stock index'
    headings = ('measure', best, own, 'ratio', 'must reach', 'reached', 'spread', 'by processor time')
    rows = [headings, *(row(line) for line in lines)]
    return aligned(rows)


def aligned(rows):
    """A Markdown table of rows of cells, of which the first is the headings."""
    widths = [max(len(cells[column]) for cells in rows) for column in range(len(rows[0]))]

    def written(cells):
        padded = [cells[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(cells[1:], widths[1:]))]
        return '| ' + ' | '.join(padded) + ' |'
    rule = '|' + '|'.join(('-' * (width + 1) + ('-' if column == 0 else ':'))
                          for column, width in enumerate(widths)) + '|'
    return '\n'.join([written(rows[0]), rule, *(written(cells) for cells in rows[1:])])


def write_json(path, result):
    with open(path, 'w', encoding='utf-8') as file:
        json.dump(result, file, indent=1, ensure_ascii=False)
        file.write('\n')


def gnuplot(program, path):
    try:
        done = subprocess.run(['gnuplot'], input=program, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return 'gnuplot is not here. Hint: contrib/scripts/install-dependencies --for bench'
    if done.returncode != 0 or not os.path.exists(path):
        return f'gnuplot failed: {done.stderr.strip()}'
    return None


def quoted(text):
    """For gnuplot's double quotes; in the labels of an axis, percent signs must be doubled besides."""
    return '"' + text.replace('\\', '\\\\').replace('"', '\\"') + '"'


def slowness(line):
    """Returns the ratio with which the other side is 1 and less is better, whatever the unit."""
    return 1 / line.ratio if line.unit == 'tps' else line.ratio


def plot_ratios(path, lines, title):
    drawn = [line for line in reversed(lines) if line.ratio and line.other and line.limit is None]
    if not drawn:
        return 'no ratios to plot'
    bars = '\n'.join(f'{position} {slowness(line)}' for position, line in enumerate(drawn))
    targets = '\n'.join(
        f'{position} {line.target.at_most if line.target.at_most is not None else 1 / line.target.at_least}'
        for position, line in enumerate(drawn) if line.target) or f'0 {slowness(drawn[0])}'
    names = ', '.join(f'{quoted(line.title.replace("%", "%%"))} {position}' for position, line in enumerate(drawn))
    low = min(0.01, *(slowness(line) / 1.5 for line in drawn)) if len(drawn) > 1 else 0.001
    high = max(2.0, *(slowness(line) * 1.2 for line in drawn)) if len(drawn) > 1 else 10
    others = {line.other for line in drawn}
    other = others.pop() if len(others) == 1 else 'the best stock index'
    return gnuplot(f'''
set terminal pngcairo size 900,{110 + 24 * len(drawn)} font "sans,9" noenhanced
set output {quoted(path)}
set title {quoted(title)}
set logscale x
set xrange [{low}:{high}]
set yrange [-0.7:{len(drawn) - 0.3}]
set ytics ({names}) nomirror
set xlabel "1 is {other}, less is faster or smaller"
set grid x
set arrow from 1,graph 0 to 1,graph 1 nohead lc rgb "#444444"
set key outside bottom center horizontal
$bars << EOD
{bars}
EOD
$targets << EOD
{targets}
EOD
plot $bars using (({low})):1:({low}):2:($1-0.35):($1+0.35) with boxxyerror fs solid 0.7 lc rgb "#4477aa" title "measured", \\
     $targets using 2:1 with points pt 9 ps 1.4 lc rgb "#cc3311" title "must reach"
''', path)


def plot_batches(path, lines, title):
    """Time over the number of keys."""
    drawn = [(int(line.name.split('-')[1]), line) for line in lines
             if line.name.startswith('any-') and len(line.sides) == 2]
    if len(drawn) < 2:
        return 'fewer than two batch sizes to plot'
    points = '\n'.join(f"{size} {line.sides['btree'].median} {line.sides['gpu_kary'].median}"
                       for size, line in sorted(drawn, key=lambda pair: pair[0]))
    return gnuplot(f'''
set terminal pngcairo size 700,420 font "sans,9" noenhanced
set output {quoted(path)}
set title {quoted(title)}
set logscale xy
set xlabel "keys in the array"
set ylabel "milliseconds"
set grid
set key left top
$points << EOD
{points}
EOD
plot $points using 1:2 with linespoints pt 7 lc rgb "#bb8833" title "btree, best plan", \\
     $points using 1:3 with linespoints pt 7 lc rgb "#4477aa" title "gpu_kary"
''', path)


def plot_boxes(path, lines, title):
    """Time over the share of the points in a box, of the best stock index and of gpu_grid's ways."""
    series = (('count', 'other', 'count(*), best stock index', '#bb8833', 5), ('rows', 'other', 'rows, best stock index', '#bb8833', 4),
              ('rows', 'own', 'rows, gpu_grid', '#4477aa', 4), ('count', 'own', 'count(*), gpu_grid', '#4477aa', 5),
              ('gpu-count', 'own', 'gpu.count', '#228833', 7))
    blocks, drawn = [], []
    for number, (name, which, label, colour, point) in enumerate(series):
        points = []
        for line in lines:
            start = f'{name}-boxed-'
            if line.name.startswith(start) and not line.name.endswith('-changed') and line.ratio:
                side = line.sides[line.own if which == 'own' else line.other]
                points.append((float(line.name[len(start):]), side.median))
        if len(points) > 1:
            blocks.append(f'$series{number} << EOD\n' + '\n'.join(f'{share} {figure}' for share, figure in sorted(points)) + '\nEOD')
            drawn.append(f'$series{number} using 1:2 with linespoints pt {point} lc rgb "{colour}" title {quoted(label)}')
    if not drawn:
        return 'fewer than two sizes of boxes to plot'
    data = '\n'.join(blocks)
    return gnuplot(f'''
set terminal pngcairo size 700,420 font "sans,9" noenhanced
set output {quoted(path)}
set title {quoted(title)}
set logscale xy
set format x "%g"
set format y "%g"
set xlabel "share of the points in the box"
set ylabel "milliseconds"
set grid
set key left top
{data}
plot {", ".join(drawn)}
''', path)


def plots(stem, benchmark, subtitle):
    """Writes what can be drawn; returns the files and what went wrong."""
    if not shutil.which('gnuplot'):
        return [], ['gnuplot is not here, so no plots. '
                    'Hint: contrib/scripts/install-dependencies --for bench']
    files, problems = [], []
    for name, draw, title in (('ratios', plot_ratios, f'{benchmark.OWN} against PostgreSQL'), *benchmark.plots()):
        path = f'{stem}-{name}.png'
        problem = draw(path, benchmark.lines, f'{title}, {subtitle}')
        if problem:
            problems.append(f'{os.path.basename(path)}: {problem}')
        else:
            files.append(path)
    return files, problems
