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
    if line.failure:
        reached = 'FAILED'
    else:
        reached = {None: '', True: 'yes', False: 'no'}[line.reached]
    return (line.title, of('btree'), of('gpu_kary'), share(line.ratio), str(line.target) if line.target else '',
            reached, f'{line.spread:.0%}', share(line.processor_ratio))


def share(ratio):
    return '–' if ratio is None else f'{ratio:.3f}' if ratio < 0.1 else f'{ratio:.2f}'


HEADINGS = ('measure', 'btree', 'gpu_kary', 'ratio', 'must reach', 'reached', 'spread', 'by processor time')


def table(lines):
    """As Markdown, so that it can be quoted as it is."""
    rows = [HEADINGS, *(row(line) for line in lines)]
    widths = [max(len(cells[column]) for cells in rows) for column in range(len(HEADINGS))]

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
    done = subprocess.run(['gnuplot'], input=program, capture_output=True, text=True, check=False)
    if done.returncode != 0 or not os.path.exists(path):
        return f'gnuplot failed: {done.stderr.strip()}'
    return None


def quoted(text):
    """For gnuplot's double quotes; in the labels of an axis, percent signs must be doubled besides."""
    return '"' + text.replace('\\', '\\\\').replace('"', '\\"') + '"'


def slowness(line):
    """btree is 1 and less is better, whatever the unit."""
    return 1 / line.ratio if line.unit == 'tps' else line.ratio


def plot_ratios(path, lines, title):
    drawn = [line for line in reversed(lines) if line.ratio and 'btree' in line.sides and line.limit is None]
    if not drawn:
        return 'no ratios to plot'
    bars = '\n'.join(f'{position} {slowness(line)}' for position, line in enumerate(drawn))
    targets = '\n'.join(
        f'{position} {line.target.at_most if line.target.at_most is not None else 1 / line.target.at_least}'
        for position, line in enumerate(drawn) if line.target) or f'0 {slowness(drawn[0])}'
    names = ', '.join(f'{quoted(line.title.replace("%", "%%"))} {position}' for position, line in enumerate(drawn))
    low = min(0.01, *(slowness(line) / 1.5 for line in drawn)) if len(drawn) > 1 else 0.001
    high = max(2.0, *(slowness(line) * 1.2 for line in drawn)) if len(drawn) > 1 else 10
    return gnuplot(f'''
set terminal pngcairo size 900,{110 + 24 * len(drawn)} font "sans,9" noenhanced
set output {quoted(path)}
set title {quoted(title)}
set logscale x
set xrange [{low}:{high}]
set yrange [-0.7:{len(drawn) - 0.3}]
set ytics ({names}) nomirror
set xlabel "gpu_kary against btree: 1 is btree, less is faster or smaller"
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


def plots(stem, lines, subtitle):
    """Writes what can be drawn; returns the files and what went wrong."""
    if not shutil.which('gnuplot'):
        return [], ['gnuplot is not here, so no plots. '
                    'Hint: contrib/scripts/install-dependencies --for bench']
    files, problems = [], []
    for name, draw, title in (('ratios', plot_ratios, 'gpu_kary against btree'),
                              ('batches', plot_batches, 'count(*) … k = ANY (array)')):
        path = f'{stem}-{name}.png'
        problem = draw(path, lines, f'{title}, {subtitle}')
        if problem:
            problems.append(f'{os.path.basename(path)}: {problem}')
        else:
            files.append(path)
    return files, problems
