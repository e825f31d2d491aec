"""What pg_gpu's server process is and holds, looked at while others work."""

import threading
import time

from server import Session, processes_of


def command_line(process):
    try:
        with open(f'/proc/{process}/cmdline', encoding='utf-8', errors='replace') as file:
            return file.read().replace('\0', ' ')
    except OSError:
        return ''


def server_process(server):
    """The process id, or None while there is none."""
    for child in processes_of(server.postmaster()):
        if 'pg_gpu supervisor' in command_line(child):
            return next(iter(processes_of(child)), None)
    return None


def resident_bytes(process):
    """All resident memory, and the anonymous part of it; None when the process is gone."""
    found = {}
    try:
        with open(f'/proc/{process}/status', encoding='utf-8', errors='replace') as file:
            for line in file:
                name, _, value = line.partition(':')
                if name in ('VmRSS', 'RssAnon'):
                    found[name] = int(value.split()[0]) * 1024
    except OSError:
        return None
    return (found['VmRSS'], found['RssAnon']) if len(found) == 2 else None


class Watch:
    """Looks at the server process in a thread of its own, in even steps of time, while a `with` block lasts.

    A look is (seconds, process, resident bytes, anonymous bytes, mirrors, their bytes, living runs of the indexes,
    and, since the process began, requests of the path host and of cuda).
    """

    PAUSE = 0.5
    # How much may come and go between two looks.
    GROWTH, SLACK = 1.25, 16 * 2**20

    def __init__(self, server, database, indexes):
        self.server = server
        self.session = Session(server, database)
        names = ', '.join(f"('{name}')" for name in indexes)
        self.query = ('SELECT m.n, m.bytes, r.n, s.host, s.cuda FROM (SELECT count(*) AS n, coalesce(sum(bytes), 0) AS bytes FROM gpu.mirrors) AS m, '
                      f'(SELECT count(*) AS n FROM (VALUES {names}) AS i (name), LATERAL gpu.runs(name::regclass)) AS r, '
                      "(SELECT coalesce(sum(requests) FILTER (WHERE path = 'host'), 0) AS host, "
                      "coalesce(sum(requests) FILTER (WHERE path = 'cuda'), 0) AS cuda FROM gpu.stat) AS s")
        self.looks = []
        self.failure = None
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.watch)

    def look(self):
        process = server_process(self.server)
        resident = resident_bytes(process) if process else None
        figures = tuple(int(figure) for figure in self.session.value(self.query).split('|'))
        self.looks.append((round(time.monotonic() - self.began, 2), process, *(resident or (None, None)), *figures))

    def watch(self):
        try:
            while not self.ended.is_set():
                self.look()
                self.ended.wait(self.PAUSE)
            self.look()
        except Exception as failure:    # pylint: disable=broad-except
            self.failure = failure

    def __enter__(self):
        self.began = time.monotonic()
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()
        self.session.close()

    def longest_excess(self):
        """How long there were more mirrors than twice the living runs, in one piece."""
        longest, began = 0.0, None
        for seconds, _, _, _, mirrors, _, runs, *_ in self.looks:
            if mirrors <= 2 * runs:
                began = None
            else:
                began = seconds if began is None else began
                longest = max(longest, seconds - began)
        return longest

    def result(self):
        """What is kept: the extremes, whether memory is flat from the second quarter to the last, and some of the looks."""
        if self.failure:
            raise self.failure
        looks = [look for look in self.looks if look[2] is not None]
        quarter = len(looks) // 4
        flat = None
        if quarter:
            early, late = (max(look[3] for look in part) for part in (looks[quarter:2 * quarter], looks[-quarter:]))
            flat = late <= early * self.GROWTH + self.SLACK
        step = -(-len(self.looks) // 60)

        def extremes(column):
            """Megabytes at first, at last, and at most; None without a server process."""
            values = [look[column] / 1e6 for look in looks]
            return [values[0], values[-1], max(values)] if values else None
        return {'processes': sorted({look[1] for look in self.looks if look[1]}),
                'resident_mb': extremes(2), 'anonymous_mb': extremes(3), 'memory_flat': flat,
                'mirrors': max(look[4] for look in self.looks), 'mirror_mb': max(look[5] for look in self.looks) / 1e6,
                'runs': max(look[6] for look in self.looks),
                'mirrors_to_runs': max(look[4] / max(look[6], 1) for look in self.looks),
                'excess_seconds': self.longest_excess(),
                'columns': ['seconds', 'process', 'resident', 'anonymous', 'mirrors', 'mirror bytes', 'runs', 'host requests', 'cuda requests'],
                'looks': self.looks[::step]}
